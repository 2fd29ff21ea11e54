#include "session/export_thread.hpp"

#include "session/export_bound.hpp"
#include "session/warn_once.hpp"

namespace prof {

void export_thread::post_exports(recording_settings::snapshot options, std::string path) {
    if (!options->exports.any()) return;
    thread_.post([this, options = std::move(options), path = std::move(path)] {
        if (const outcome written = write_bounded_exports(*options, path); !written.ok()) note_failure(written);
    });
}

void export_thread::post_failure(outcome failure) {
    thread_.post([this, failure = std::move(failure)] { note_failure(failure); });
}

outcome export_thread::first_failure() {
    const session_lock lock(mutex_);
    return first_failure_;
}

void export_thread::forget_failure() {
    const session_lock lock(mutex_);
    first_failure_ = {};
}

void export_thread::note_failure(const outcome& failure) {
    warn_once(failure.message());
    const session_lock lock(mutex_);
    if (first_failure_.ok()) first_failure_ = failure;
}

}  // namespace prof
