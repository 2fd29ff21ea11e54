#include "session/export_thread.hpp"

#include <utility>

#include "session/events.hpp"
#include "session/export_bound.hpp"
#include "session/warn_once.hpp"

namespace prof {

void export_thread::post_exports(recording_settings::snapshot options, std::string path) {
    if (!options->exports.any()) return;
    thread_.post([this, options = std::move(options), path = std::move(path)] {
        std::string refusal;
        const outcome written = write_bounded_exports(*options, path, &refusal);
        if (!written.ok()) note_problem(written.message());
        const std::uint64_t number = ++ended_;
        if (!wants_event(PROF_EVENT_EXPORT_ENDED)) return;
        post_event(PROF_EVENT_EXPORT_ENDED, number, path,
                   refusal.empty() ? written : outcome::failed(std::move(refusal)));
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
