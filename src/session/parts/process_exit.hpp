// SPDX-License-Identifier: Apache-2.0
// The end of the process: completes the recording, and gives up where that might hang.
//
// run() is the exit handler. It chooses one of three ways:
//   - Usually it completes the recording on the exiting thread.
//   - That thread may be in the middle of a call to CUDA, or in a signal handler that interrupted the allocator. Then
//     the end thread completes the recording. The exiting thread only polls its progress: it takes no lock and
//     allocates nothing. It gives up once there was no progress for five seconds (patience.hpp).
//   - If the exiting thread is inside the session it gives up at once.
// After giving up, the capture has no end chunk, records that it lacks stay in the rings, and one line on stderr states
// that.
//
// The fields are atomics, and no lock guards them: run() may interrupt a thread that would hold it. Functions are for
// any thread, and return at once, unless they state otherwise.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>

#include "collect/drain_thread.hpp"
#include "session/process/end_thread.hpp"

namespace prof {

class process_exit {
public:
    struct functions {
        void (*complete)();           // completes the recording at exit; calls note_complete() if all is done
        void (*end_here)() noexcept;  // calls end_here() of this process's session
        void (*on_exit)() noexcept;   // an exit handler, which calls run() of this process's session
        void (*close_control)();      // those of control.hpp
        void (*leave_control)() noexcept;
    };
    explicit process_exit(const functions& calls) noexcept : functions_(calls), end_thread_(calls.end_here) {}

    // Registers run() by atexit. Exit handlers run in reverse order: each call puts one in front of those registered
    // before.
    void register_handler() noexcept;
    // Makes the end thread, if there is none yet. Throws prof::error.
    void start_thread() { end_thread_.start(); }
    // Ends the end thread, if there is one: nothing is recorded, or libprof's threads rest (`records`).
    void rest(bool records) noexcept {
        rests_ = records;
        end_thread_.end();
    }
    void note_awake() noexcept { rests_ = false; }

    // The exit handler, on the exiting thread; may run several times. Blocks until the recording is completed or given
    // up.
    void run() noexcept;
    // Completes the recording on the calling thread, and blocks meanwhile. A failure becomes the line on stderr.
    void end_here() noexcept;

    // run() was called: CUPTI's exit handlers may have run.
    bool has_begun() const noexcept { return has_begun_.load(); }
    // run() has given up: the process ends without waiting for its capture.
    bool has_given_up() const noexcept { return has_given_up_.load(); }
    // The end thread completes the recording. It may wait for a lock that the exiting thread holds.
    bool is_on_end_thread() const noexcept { return is_on_end_thread_.load(); }
    // note_synced() was called within the last five seconds, so little is left to write. The exiting thread then does
    // the drain thread's work itself, since waiting for another thread takes long where processors are scarce. False on
    // the end thread.
    bool is_in_a_hurry() const noexcept;

    // Progress of the completion, reported by the thread that completes the recording.
    void note_left_cupti(std::shared_ptr<drain_thread> drain) noexcept;  // CUPTI is not needed any more; drain or null
    void note_closed() noexcept { progress_ = progress::closed; }        // the capture is closed
    void note_complete() noexcept;                                       // all is done; ignored after giving up

    // Whether the file of the latest capture exists.
    void note_capture(bool is_made) noexcept { has_capture_ = is_made; }
    // Whether the capture's disk does not answer; then the end of the process does not wait for it.
    void note_disk(bool stands_still) noexcept { disk_stands_still_ = stands_still; }
    bool disk_stands_still() const noexcept { return disk_stands_still_.load(); }
    // All records made until now are in the capture.
    void note_synced() noexcept;

private:
    enum class progress : std::uint8_t { none, left_cupti, closed, complete };
    struct progress_state {
        progress reached = progress::none;
        std::uint64_t cpu_ns = 0;   // of the end thread
        std::uint64_t records = 0;  // in the capture
        bool operator==(const progress_state&) const = default;
    };
    progress_state current_progress() const noexcept;
    void leave_unfinished(const char* reason) noexcept;
    void end_on_end_thread() noexcept;
    const char* what_was_given_up() const noexcept;
    void give_up(bool is_interrupted) noexcept;

    const functions functions_;
    end_thread end_thread_;
    std::atomic<bool> has_begun_{false};
    std::atomic<bool> has_given_up_{false};
    std::atomic<progress> progress_{progress::none};
    std::atomic<bool> has_capture_{false};
    std::atomic<bool> is_on_end_thread_{false};
    std::atomic<bool> rests_{false};  // there is a recording, and no end thread
    // Of the recording that ends with the process. Written before progress_ is left_cupti, read after that.
    std::shared_ptr<drain_thread> last_drain_;
    std::atomic<bool> disk_stands_still_{false};
    std::atomic<std::uint64_t> synced_ns_{0};  // CLOCK_MONOTONIC; 0: never
};

}  // namespace prof
