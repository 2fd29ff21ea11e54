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
#include <string>

#include "base/outcome.hpp"
#include "collect/drain_thread.hpp"
#include "session/parts/session_parts.hpp"
#include "session/process/lock_order.hpp"
#include "session/process/session_mutex.hpp"
#include "session/window_control.hpp"

namespace prof {

class recording_commands {
public:
    // `windows` outlives this.
    recording_commands(const session_parts& parts, window_control& windows) noexcept
        : parts_(parts), windows_(windows) {}

    // wrong_state if a recording runs. One that began by itself is completed first, if the program asks. Fails while a
    // recording is left behind (stop()).
    outcome start(const session_options& options, requester caller) PROF_EXCLUDES(mutex_);
    // Whether the recording that runs began by itself. No lock.
    bool runs_by_itself() const noexcept { return runs_by_itself_.load(); }
    // As long as the GPU takes, and the disk as long as it answers. If that does not answer for five seconds the
    // recording is left behind: it has ended, and the settling thread completes its capture once the disk answers.
    outcome stop() PROF_EXCLUDES(mutex_);
    // Brings what has completed into the capture file. wrong_state if nothing was ever recorded.
    outcome sync() PROF_EXCLUDES(mutex_);
    // The same for a program that is about to end. Nothing here waits for a GPU that does not end, or for a disk that
    // does not answer.
    outcome sync_before_exit() PROF_EXCLUDES(mutex_);
    // At exit: completes the recording. Throws.
    void complete_at_exit() PROF_EXCLUDES(mutex_);

private:
    // A recording that was stopped, and what comes of it. Two threads use it in turn: the one that holds the lock, and
    // from post() until `reached` is `done` the settling thread.
    struct ending {
        enum class progress : std::uint8_t { under_way, left_behind, done };

        recording_settings::snapshot options;
        std::uint64_t open_window = 0;  // the number of the window that was open until now; 0: none was
        std::uint64_t steps = 0;
        bool has_capture = false;
        std::string path;
        outcome closed;
        std::atomic<progress> reached{progress::done};
    };
    bool is_left_behind() PROF_REQUIRES(mutex_);
    outcome complete_stopped() PROF_REQUIRES(mutex_);
    void bring_to_end();
    outcome exports_of(bool has_capture, const outcome& closed, bool was_recording) PROF_REQUIRES(mutex_);
    void note_ended(std::uint64_t steps, const std::string& path, const outcome& completed);
    static void report_loss(const session_options& options, const outcome& closed);
    void describe_end(drain_thread& drain);

    bool lock_at_exit() PROF_TRY_ACQUIRE(true, mutex_);
    void complete_exited() PROF_REQUIRES(mutex_);
    void announce_capture();
    void leave_to_settling_thread() PROF_REQUIRES(mutex_);
    void close_exited(const std::shared_ptr<drain_thread>& drain, bool was_recording) PROF_REQUIRES(mutex_);
    void end_threads() PROF_REQUIRES(mutex_);
    outcome bring_in(const std::shared_ptr<drain_thread>& drain) PROF_REQUIRES(mutex_);

    const session_parts parts_;
    window_control& windows_;
    session_mutex mutex_ PROF_ACQUIRED_AFTER(lock_order::below_preparation)
        PROF_ACQUIRED_BEFORE(lock_order::below_commands);
    ending ending_;                            // of the latest recording that was stopped
    std::atomic<bool> runs_by_itself_{false};  // written under the lock
    std::atomic<bool> waits_for_gpu_{false};   // the thread that holds the lock, or works for it
};

}  // namespace prof
