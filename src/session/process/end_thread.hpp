// SPDX-License-Identifier: Apache-2.0
// The end thread, "prof-end". It sleeps until the process ends, and then completes the recording if the exiting thread
// must not do that itself. A signal handler that exits may have interrupted anything, even the allocator while it held
// its locks.
//
// The exiting thread (process_exit.hpp) calls ask(), then polls cpu_ns() for progress. Neither takes a lock or
// allocates. The end thread wakes once a second, to check whether only libprof's threads are left (exit_if_alone).
#pragma once

#include <pthread.h>
#include <semaphore.h>

#include <atomic>
#include <cstdint>
#include <ctime>

#include "session/process/session_mutex.hpp"

namespace prof {

class end_thread {
public:
    // `work`: called on the end thread. This object must outlive the thread, which ends by end() or with the process.
    explicit end_thread(void (*work)() noexcept) noexcept : work_(work) {}
    end_thread(const end_thread&) = delete;
    end_thread& operator=(const end_thread&) = delete;

    // Makes the thread, if there is none yet. Throws prof::error. Any thread.
    void start() PROF_EXCLUDES(starting_);
    bool is_there() const noexcept { return is_there_.load(); }
    // Ends the thread, if there is one, and returns when it has ended. REQUIRES: the work is not under way, and nobody
    // asks for it meanwhile.
    void end() noexcept PROF_EXCLUDES(starting_);

    // The next two may be called in a signal handler. REQUIRES: is_there().
    // Requests the work, which is done once for each call. Returns at once.
    void ask() noexcept { sem_post(&asked_); }
    // The processor time that the end thread has used. While it grows, the thread makes progress.
    std::uint64_t cpu_ns() const noexcept;

private:
    static void* enter(void* self) noexcept;
    int wait_for_a_while() noexcept;  // one second at most; 0: ask() was called

    void (*const work_)() noexcept;
    session_mutex starting_;
    pthread_t thread_ PROF_GUARDED_BY(starting_){};
    std::atomic<bool> ends_{false};
    sem_t asked_{};                      // written before is_there_
    clockid_t clock_ = CLOCK_MONOTONIC;  // likewise
    std::atomic<bool> is_there_{false};
};

}  // namespace prof
