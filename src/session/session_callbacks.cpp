// SPDX-License-Identifier: Apache-2.0
#include "session/session_callbacks.hpp"

#include <exception>
#include <new>

#include "base/cancellation_guard.hpp"
#include "base/signal_handler.hpp"
#include "ring/registry.hpp"
#include "session/recording.hpp"
#include "session/warn_once.hpp"

namespace prof {

first_use_outcome session_callbacks::on_first_use() noexcept {
    // A signal handler may have interrupted the allocator, or what else a capture and its thread need.
    if (is_in_signal_handler()) return first_use_outcome::put_off;
    try {
        recording_session& session = recording_session::instance();
        session.idle_.begin_drain();
        session.capture_.begin();
        return first_use_outcome::begun;
    } catch (const std::bad_alloc&) {
        record_nothing("no memory for a recording");
    } catch (const std::exception& failure) {
        record_nothing(failure.what());
    }
    recording_session::instance().capture_.note_refusal();
    return first_use_outcome::begun;
}

bool session_callbacks::on_watched_range(range_use use, bool begins) noexcept {
    const cancellation_guard guard;
    try {
        return recording_session::instance().windows_.on_watched_range(use, begins);
    } catch (const std::exception& failure) {
        warn_once(failure.what());
    }
    return false;
}

void session_callbacks::on_profiler_call(bool starts) noexcept {
    if (gate_was_wiped()) return;
    const cancellation_guard guard;
    try {
        recording_session::instance().windows_.on_profiler_call(starts);
    } catch (const std::exception& failure) {
        warn_once(failure.what());
    }
}

void session_callbacks::await_preparation() noexcept {
    // As in on_first_use(): what this handler makes is not recorded.
    if (is_in_signal_handler()) return;
    try {
        recording_session::instance().prepare();
    } catch (const std::exception&) {
        // Reported by the thread that came first; nothing is recorded.
    }
}

void session_callbacks::end_here() noexcept { recording_session::instance().exit_.end_here(); }

void session_callbacks::complete_at_exit() { recording_session::instance().commands_.complete_at_exit(); }

}  // namespace prof
