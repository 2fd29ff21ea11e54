// SPDX-License-Identifier: Apache-2.0
// Commands that may take long: to start and to stop a recording, to bring in what was recorded, and to complete the
// recording when the process ends.
//
// One at a time: a command holds the lock to its end, until a capture is completed and exported. It takes
// window_control's lock under it for each part that changes the state of windows, and for no longer. Any thread.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>

#include "base/outcome.hpp"
#include "collect/drain_thread.hpp"
#include "session/lock_order.hpp"
#include "session/session_mutex.hpp"
#include "session/session_parts.hpp"
#include "session/window_control.hpp"

namespace prof {

class recording_commands {
public:
    // `windows` outlives this.
    recording_commands(const session_parts& parts, window_control& windows) noexcept
        : parts_(parts), windows_(windows) {}

    // wrong_state if a recording runs. One that began by itself is completed first, if the program asks.
    outcome start(const session_options& options, requester who) PROF_EXCLUDES(mutex_);
    // Whether the recording that runs began by itself. No lock.
    bool runs_by_itself() const noexcept { return runs_by_itself_.load(); }
    outcome stop() PROF_EXCLUDES(mutex_);
    // Brings what has completed into the capture file. wrong_state if nothing was ever recorded.
    outcome sync() PROF_EXCLUDES(mutex_);
    // The same for a program that is about to end. Nothing here waits for a GPU that does not end, or for a disk that
    // does not answer.
    outcome sync_before_exit() PROF_EXCLUDES(mutex_);
    // At exit: completes the recording. Throws.
    void complete_at_exit() PROF_EXCLUDES(mutex_);

private:
    bool lock_at_exit() PROF_TRY_ACQUIRE(true, mutex_);
    outcome complete(format::end_reason reason) PROF_REQUIRES(mutex_);
    void announce_capture();
    void end_threads() PROF_REQUIRES(mutex_);
    outcome leave_to_settling_thread() PROF_REQUIRES(mutex_);
    outcome close_capture(drain_thread& drain, format::end_reason reason) PROF_REQUIRES(mutex_);
    // `open_window`: the number of the window that was open until now; 0: none was.
    outcome complete_recording(bool was_recording, const std::shared_ptr<drain_thread>& drain,
                               const recording_settings::snapshot& options, format::end_reason reason,
                               std::uint64_t open_window) PROF_REQUIRES(mutex_);
    outcome bring_in(const std::shared_ptr<drain_thread>& drain) PROF_REQUIRES(mutex_);

    const session_parts parts_;
    window_control& windows_;
    session_mutex mutex_ PROF_ACQUIRED_AFTER(lock_order::below_preparation)
        PROF_ACQUIRED_BEFORE(lock_order::below_commands);
    std::atomic<bool> runs_by_itself_{false};  // written under the lock
    std::atomic<bool> waits_for_gpu_{false};   // the thread that holds the lock
};

}  // namespace prof
