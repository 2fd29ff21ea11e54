// SPDX-License-Identifier: Apache-2.0
// The thread that settles windows which have ended: it waits for the GPU, brings in the window's last records, and
// detaches from CUPTI (gpu_session::settle). A window is opened only when it has nothing to do.
//
// Its tasks never take window_control's lock, since a thread that holds that lock may wait for them. Its own lock is
// one of the last (lock_order.hpp). Any thread.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>

#include "base/disk_watch.hpp"
#include "collect/drain_thread.hpp"
#include "session/parts/capture_in_progress.hpp"
#include "session/process/background.hpp"
#include "session/process/session_mutex.hpp"

namespace prof {

class settling_thread {
public:
    explicit settling_thread(capture_in_progress& capture) : capture_(capture) {}

    // Runs on this thread after all earlier tasks (background.hpp). A task that calls the storage itself holds a
    // disk_call meanwhile.
    void post(std::function<void()> task);
    // A window or the recording ends, and its records are brought in by this drain thread. Null: there is none.
    void note_drain(const std::shared_ptr<drain_thread>& drain) PROF_EXCLUDES(mutex_);

    bool is_idle() { return thread_.is_idle(); }
    bool end() { return thread_.end(); }
    // False if that takes longer than `longest`.
    bool wait_until_idle(std::chrono::milliseconds longest) { return thread_.wait_until_idle(longest); }
    // Returns when all tasks are done, as long as that takes, but not while calls to the disk take more than `patience`
    // of the time in which this process runs: then false.
    bool await(std::chrono::nanoseconds patience) PROF_EXCLUDES(mutex_);
    // The same for a caller that waits as long as the disk answers, however slowly: false once one call to it has taken
    // as long as `patience`.
    bool await_while_disk_answers(std::chrono::nanoseconds patience) PROF_EXCLUDES(mutex_);
    // The same at exit: a GPU that does not end, and a disk that does not answer, are given five seconds in all.
    bool await_at_exit() PROF_EXCLUDES(mutex_);
    // This thread, or a drain thread that is waited for, has been in one call to the disk for five seconds.
    bool disk_stands_still() PROF_EXCLUDES(mutex_);

    // A window was not opened, since the disk did not answer while the one before was brought in.
    void note_skipped_window();
    void forget_skipped_windows() noexcept { skipped_windows_ = 0; }
    void report_skipped_windows(drain_thread& drain) const;

private:
    std::shared_ptr<drain_thread> noted_drain() PROF_EXCLUDES(mutex_);

    capture_in_progress& capture_;
    disk_watch disk_;  // the calls of this thread itself
    background_thread thread_{"prof-settle"};
    std::atomic<std::uint64_t> skipped_windows_{0};  // in this recording
    session_mutex mutex_;
    std::weak_ptr<drain_thread> drain_ PROF_GUARDED_BY(mutex_);  // note_drain()
};

}  // namespace prof
