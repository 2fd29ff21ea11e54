// SPDX-License-Identifier: Apache-2.0
#include "session/parts/export_thread.hpp"

#include <utility>

#include "session/parts/export_bound.hpp"
#include "session/process/events.hpp"
#include "session/process/warn_once.hpp"

namespace prof {

void export_thread::post_exports(recording_settings::snapshot options, std::string path) {
    if (!options->exports.any_of_process()) return;
    thread_.post([this, options = std::move(options), path = std::move(path)] {
        std::string refusal;
        const outcome written = write_bounded_exports(*options, path, &refusal);
        if (!written.ok()) note_failure(written);
        const std::uint64_t number = ++ended_;
        if (!wants_event(PROF_EVENT_EXPORT_ENDED)) return;
        post_event(PROF_EVENT_EXPORT_ENDED, number, path,
                   refusal.empty() ? written : outcome::failed(std::move(refusal)));
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
