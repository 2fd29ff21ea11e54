// SPDX-License-Identifier: Apache-2.0
// std::mutex and its lock as clang's thread-safety analysis follows them (thread_annotations.hpp). Costs nothing beside
// them. `native()` is for a std::condition_variable: to the analysis, a wait leaves the lock held.
#pragma once

#include <mutex>

#include "base/thread_annotations.hpp"

namespace prof {

class PROF_CAPABILITY("mutex") annotated_mutex {
public:
    annotated_mutex() = default;
    annotated_mutex(const annotated_mutex&) = delete;
    annotated_mutex& operator=(const annotated_mutex&) = delete;

    void lock() PROF_ACQUIRE() { mutex_.lock(); }
    void unlock() PROF_RELEASE() { mutex_.unlock(); }
    bool try_lock() PROF_TRY_ACQUIRE(true) { return mutex_.try_lock(); }
    std::mutex& native() noexcept { return mutex_; }

private:
    std::mutex mutex_;
};

// Holds an annotated_mutex as long as it lives, except between unlock() and lock().
class PROF_SCOPED_CAPABILITY annotated_lock {
public:
    explicit annotated_lock(annotated_mutex& mutex) PROF_ACQUIRE(mutex) : lock_(mutex.native()) {}
    ~annotated_lock() PROF_RELEASE() = default;
    annotated_lock(const annotated_lock&) = delete;
    annotated_lock& operator=(const annotated_lock&) = delete;

    void lock() PROF_ACQUIRE() { lock_.lock(); }
    void unlock() PROF_RELEASE() { lock_.unlock(); }
    std::unique_lock<std::mutex>& native() noexcept { return lock_; }

private:
    std::unique_lock<std::mutex> lock_;
};

}  // namespace prof
