#include "session/export_thread.hpp"

#include "session/export_bound.hpp"
#include "session/warn_once.hpp"

namespace prof {

void export_thread::post_exports(recording_settings::snapshot options, std::string path) {
    if (!options->exports.any()) return;
    thread_.post([this, options = std::move(options), path = std::move(path)] {
        if (const outcome written = write_bounded_exports(*options, path); !written.ok())
            note_problem(written.message());
    });
}

void export_thread::post_problem(std::string problem) {
    thread_.post([this, problem = std::move(problem)] { note_problem(problem); });
}

std::string export_thread::problem() {
    const session_lock lock(mutex_);
    return problem_;
}

void export_thread::forget_problem() {
    const session_lock lock(mutex_);
    problem_.clear();
}

void export_thread::note_problem(const std::string& problem) {
    warn_once(problem);
    const session_lock lock(mutex_);
    if (problem_.empty()) problem_ = problem;
}

}  // namespace prof
