// SPDX-License-Identifier: Apache-2.0
// A thread for work that would hold up the program: to wait for the GPU at the end of a window, to make exports. Tasks
// run one after the other, in the order in which they were posted. The thread blocks every signal, so that no handler
// of the program ever runs on it. It is made by the first task, and again by the first after end().
#pragma once

#include <pthread.h>

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <ctime>
#include <deque>
#include <functional>

#include "base/annotated_mutex.hpp"

namespace prof {

class background_thread {
public:
    // `name` as the kernel shows it: at most 15 bytes, a literal.
    explicit background_thread(const char* name) : name_(name) {}
    background_thread(const background_thread&) = delete;
    background_thread& operator=(const background_thread&) = delete;

    // If there can be no thread, the task runs here and now. What a task throws is reported (out_of_memory.hpp).
    void post(std::function<void()> task) PROF_EXCLUDES(mutex_);

    // Returns when all tasks posted so far are done; false if that takes longer than `longest`.
    bool wait_until_idle(std::chrono::milliseconds longest) PROF_EXCLUDES(mutex_);
    bool is_idle() PROF_EXCLUDES(mutex_);
    // As wait_until_idle(), but false once the thread has used no processor time for as long as `standstill`. A later
    // call does not wait so long again, while the thread still stands.
    bool wait_while_it_works(std::chrono::milliseconds standstill) PROF_EXCLUDES(mutex_);
    // Ends the thread, and returns when it has ended. False, with nothing changed: it has something to do.
    bool end() PROF_EXCLUDES(mutex_);
    // The processor time that the thread has used. Any thread.
    std::uint64_t cpu_ns() const noexcept;

private:
    static void* enter(void* self) noexcept;
    void run() PROF_EXCLUDES(mutex_);
    bool start() PROF_REQUIRES(mutex_);
    bool has_done_all() const PROF_REQUIRES(mutex_) { return tasks_.empty() && !busy_; }

    const char* const name_;
    annotated_mutex mutex_;
    std::condition_variable changed_;
    std::deque<std::function<void()>> tasks_ PROF_GUARDED_BY(mutex_);
    bool busy_ PROF_GUARDED_BY(mutex_) = false;  // with a task that is no longer in tasks_
    bool has_thread_ PROF_GUARDED_BY(mutex_) = false;
    bool has_begun_ PROF_GUARDED_BY(mutex_) = false;   // the thread is in run()
    std::uint64_t ended_ PROF_GUARDED_BY(mutex_) = 0;  // threads that end() has ended
    pthread_t thread_ PROF_GUARDED_BY(mutex_){};
    static constexpr clockid_t no_clock = -1;
    std::atomic<clockid_t> clock_{no_clock};
    // When a wait was given up: the processor time used until then, and since when the thread stands still.
    std::uint64_t stood_still_at_ns_ PROF_GUARDED_BY(mutex_) = UINT64_MAX;
    std::chrono::steady_clock::time_point stands_still_since_ PROF_GUARDED_BY(mutex_);
};

}  // namespace prof
