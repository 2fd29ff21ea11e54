// A mutex that knows whether the calling thread is inside the session: if such a thread calls exit, a signal's handler
// does, and the thread must not wait for what it holds itself. Counting costs a thread-local addition.
#pragma once

#include <mutex>

namespace prof {

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
    template <typename TTime>
    bool try_lock_until(const TTime& time) {
        return counted([&] { return mutex_.try_lock_until(time); });
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
