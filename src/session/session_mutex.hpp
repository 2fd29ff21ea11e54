// A mutex that knows whether the calling thread is inside the session: if such a thread calls exit, a signal's handler
// does, and the thread must not wait for what it holds itself. Counting costs a thread-local addition.
#pragma once

#include <time.h>

#include <chrono>
#include <mutex>

namespace prof {

// Whether the mutex was had within `longest`. It is asked for again and again: a wait by the system's clock lasts
// longer if that is set back, and one by another clock the thread sanitizer does not follow.
template <typename TMutex>
bool lock_within(TMutex& mutex, std::chrono::nanoseconds longest) {
    constexpr timespec pause{0, 100'000};
    const auto until = std::chrono::steady_clock::now() + longest;
    while (!mutex.try_lock()) {
        if (std::chrono::steady_clock::now() >= until) return false;
        (void)nanosleep(&pause, nullptr);
    }
    return true;
}

// How many the thread holds or waits for.
extern __thread unsigned session_mutexes_held __attribute__((tls_model("initial-exec")));

template <typename TMutex>
class session_mutex {
public:
    void lock() {
        ++session_mutexes_held;
        mutex_.lock();
    }
    void unlock() {
        mutex_.unlock();
        --session_mutexes_held;
    }
    bool try_lock() {
        return counted([&] { return mutex_.try_lock(); });
    }
    bool try_lock_for(std::chrono::nanoseconds longest) {
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

    TMutex mutex_;
};

}  // namespace prof
