// A thread that sleeps until the process ends, and then completes the recording for a thread that may not: a signal's
// handler that exits may have interrupted anything, the allocator with its locks included. So whoever exits there asks
// and looks without a lock, an allocation or a call that could want either. Once a second it looks whether it is the
// program's last but others of ours (exit_if_alone).
#pragma once

#include <semaphore.h>

#include <atomic>
#include <cstdint>
#include <ctime>

namespace prof {

class end_thread {
public:
    // `work` does not throw.
    explicit end_thread(void (*work)() noexcept) noexcept : work_(work) {}
    end_thread(const end_thread&) = delete;
    end_thread& operator=(const end_thread&) = delete;

    // Makes the thread, if there is none yet. Throws prof::error. By one thread at a time.
    void start();
    bool is_there() const noexcept { return is_there_.load(); }

    // The rest is for signal handlers, too. REQUIRES: is_there().
    // Has the work done, once for each call.
    void ask() noexcept { sem_post(&asked_); }
    // What the thread has had of the processor: it is at work while that grows.
    std::uint64_t cpu_ns() const noexcept;

private:
    static void* enter(void* self) noexcept;
    int wait_for_a_while() noexcept;  // 0: asked

    void (*const work_)() noexcept;
    sem_t asked_{};
    clockid_t clock_ = CLOCK_MONOTONIC;
    std::atomic<bool> is_there_{false};
};

// Whether this thread is in a signal's handler, or in what that called. Of what the handler called only the latest 64
// calls are looked through.
bool is_in_signal_handler() noexcept;

}  // namespace prof
