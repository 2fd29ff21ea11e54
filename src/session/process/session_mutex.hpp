// SPDX-License-Identifier: Apache-2.0
// A mutex of the session. It counts how many of them the calling thread holds or waits for: a signal's handler that
// exits on such a thread must not wait for what the thread holds itself. Counting costs a thread-local addition.
#pragma once

#include <time.h>

#include <chrono>
#include <mutex>

#include "base/thread_annotations.hpp"
#include "session/process/deadline.hpp"

namespace prof {

// Whether the mutex was locked within `longest`. Tries again and again: a wait by the system's clock lasts longer if
// that is set back, and the thread sanitizer does not follow a wait by another clock.
template <typename TMutex>
bool lock_within(TMutex& mutex, std::chrono::nanoseconds longest) {
    constexpr timespec pause{0, 100'000};
    const deadline end(longest);
    while (!mutex.try_lock()) {
        if (end.has_passed()) return false;
        (void)nanosleep(&pause, nullptr);
    }
    return true;
}

// How many session mutexes the thread holds or waits for.
extern __thread unsigned session_mutexes_held __attribute__((tls_model("initial-exec")));

class PROF_CAPABILITY("mutex") session_mutex {
public:
    session_mutex() = default;
    session_mutex(const session_mutex&) = delete;
    session_mutex& operator=(const session_mutex&) = delete;

    void lock() PROF_ACQUIRE() {
        ++session_mutexes_held;
        mutex_.lock();
    }
    void unlock() PROF_RELEASE() {
        mutex_.unlock();
        --session_mutexes_held;
    }
    bool try_lock() PROF_TRY_ACQUIRE(true) {
        return counted([&] { return mutex_.try_lock(); });
    }
    bool try_lock_for(std::chrono::nanoseconds longest) PROF_TRY_ACQUIRE(true) {
        return counted([&] { return lock_within(mutex_, longest); });
    }

private:
    template <typename TAttempt>
    static bool counted(TAttempt&& attempt) {
        ++session_mutexes_held;
        const bool is_held = attempt();
        if (!is_held) --session_mutexes_held;
        return is_held;
    }

    std::mutex mutex_;
};

// Holds a session mutex as long as it lives. clang's analysis follows this class, and not std::lock_guard.
class PROF_SCOPED_CAPABILITY session_lock {
public:
    explicit session_lock(session_mutex& mutex) PROF_ACQUIRE(mutex) : mutex_(mutex) { mutex_.lock(); }
    // After a try_lock() that was successful.
    session_lock(session_mutex& mutex, std::adopt_lock_t) PROF_REQUIRES(mutex) : mutex_(mutex) {}
    ~session_lock() PROF_RELEASE() { mutex_.unlock(); }
    session_lock(const session_lock&) = delete;
    session_lock& operator=(const session_lock&) = delete;

private:
    session_mutex& mutex_;
};

}  // namespace prof
