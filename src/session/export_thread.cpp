#include "session/export_thread.hpp"

#include "session/export_bound.hpp"
#include "session/warn_once.hpp"

namespace prof {

void export_thread::post_exports(recording_settings::snapshot options, std::string path, std::string problem) {
    if (problem.empty() && !options->export_trace && !options->export_summary) return;
    thread_.post([this, options = std::move(options), path = std::move(path), problem = std::move(problem)]() mutable {
        if (problem.empty()) problem = write_bounded_exports(*options, path);
        if (!problem.empty()) note_problem(problem);
    });
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
