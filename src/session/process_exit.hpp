// The end of the process: completes the recording, and gives up where that might hang.
//
// run() is the exit handler. Usually it completes the recording on the thread that exits. That thread may be inside the
// session, in the middle of a call to CUDA or, in a signal's handler, inside the allocator. Then the end thread
// completes the recording, and the thread that exits only watches its progress: it takes no lock and allocates nothing.
// Where the capture cannot be completed it has no end, and what it lacks stays in the rings.
//
// The fields are atomics and no lock guards them, for the same reason. Functions are for any thread unless they state
// otherwise.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>

#include "collect/drain_thread.hpp"
#include "session/end_thread.hpp"

namespace prof {

class process_exit {
public:
    struct functions {
        void (*complete)();           // completes the recording at exit; calls note_complete() if all is done
        void (*end_here)() noexcept;  // calls end_here() of this process's session
        void (*on_exit)() noexcept;   // an exit handler, which calls run() of this process's session
    };
    explicit process_exit(const functions& calls) noexcept : functions_(calls), end_thread_(calls.end_here) {}

    // Exit handlers run in reverse order: each call puts one in front of the handlers that are there already.
    void register_handler() noexcept;
    // Makes the end thread, if there is none yet. Throws prof::error.
    void start_thread() { end_thread_.start(); }

    // The exit handler; may run several times.
    void run() noexcept;
    // Completes the recording on the calling thread.
    void end_here() noexcept;

    // The process ends: CUPTI's exit handlers may have run.
    bool has_begun() const noexcept { return has_begun_.load(); }
    // The process ends without waiting for its capture.
    bool has_given_up() const noexcept { return has_given_up_.load(); }
    // The recording is completed on the end thread: the thread that exits may block it.
    bool is_on_end_thread() const noexcept { return is_on_end_thread_.load(); }
    // A moment ago all records were in the capture, on a disk that answered (note_synced()). Little is left to do, and
    // it is done without waiting for another thread: that takes long where threads wait for a processor.
    bool is_in_a_hurry() const noexcept;

    // Progress of the completion, by the thread that completes.
    void note_left_cupti(std::shared_ptr<drain_thread> drain) noexcept;  // null: there is none
    void note_closed() noexcept { progress_ = progress::closed; }        // the capture is
    void note_complete() noexcept;                                       // unless the process has given up

    // Whether the file of the latest capture is made.
    void note_capture(bool is_made) noexcept { has_capture_ = is_made; }
    // The disk of the capture does not answer, so the end does not wait for it.
    void note_disk(bool is_silent) noexcept { disk_is_silent_ = is_silent; }
    bool disk_is_silent() const noexcept { return disk_is_silent_.load(); }
    // Just now all records were brought into the capture.
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
    void leave_unfinished(const char* why) noexcept;
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
    // Of the recording that ends with the process. Written before progress_ is left_cupti, read after that.
    std::shared_ptr<drain_thread> last_drain_;
    std::atomic<bool> disk_is_silent_{false};
    std::atomic<std::uint64_t> synced_ns_{0};  // CLOCK_MONOTONIC; 0: never
};

}  // namespace prof
