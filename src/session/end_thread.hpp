// A thread that sleeps until the process ends, and then completes the recording for a thread that may not: a signal's
// handler that exits may have interrupted anything, the allocator with its locks included. The thread that exits there
// asks, and checks the progress, without a lock, an allocation or a call that could need one. Once a second the end
// thread checks whether only threads of libprof's are left (exit_if_alone).
#pragma once

#include <semaphore.h>

#include <atomic>
#include <cstdint>
#include <ctime>

#include "session/session_mutex.hpp"

namespace prof {

class end_thread {
public:
    // `work` does not throw.
    explicit end_thread(void (*work)() noexcept) noexcept : work_(work) {}
    end_thread(const end_thread&) = delete;
    end_thread& operator=(const end_thread&) = delete;

    // Makes the thread, if there is none yet. Throws prof::error. Any thread.
    void start() PROF_EXCLUDES(starting_);
    bool is_there() const noexcept { return is_there_.load(); }

    // The functions below are for signal handlers, too. REQUIRES: is_there().
    // The thread does the work once for each call.
    void ask() noexcept { sem_post(&asked_); }
    // The processor time that the thread has used: it works while that grows.
    std::uint64_t cpu_ns() const noexcept;

private:
    static void* enter(void* self) noexcept;
    int wait_for_a_while() noexcept;  // 0: asked

    void (*const work_)() noexcept;
    session_mutex starting_;
    sem_t asked_{};                      // written before is_there_
    clockid_t clock_ = CLOCK_MONOTONIC;  // likewise
    std::atomic<bool> is_there_{false};
};

// Whether this thread is in a signal's handler, or in a function that the handler called. Checks the innermost 64
// calls.
bool is_in_signal_handler() noexcept;

}  // namespace prof
