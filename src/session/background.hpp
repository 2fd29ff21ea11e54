// A thread of ours for what would hold up the program: waiting for the GPU at the end of a window, exports. Tasks run
// one after the other, in the order in which they were given. It blocks every signal, so that no handler of the program
// ever runs on it, and exists only once there was a task.
#pragma once

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <ctime>
#include <deque>
#include <functional>
#include <mutex>

namespace prof {

class background_thread {
public:
    // `name` as the kernel shows it: at most 15 bytes, a literal.
    explicit background_thread(const char* name) : name_(name) {}
    background_thread(const background_thread&) = delete;
    background_thread& operator=(const background_thread&) = delete;

    // If there can be no thread, the task runs here and now. One that throws has its line (out_of_memory.hpp).
    void post(std::function<void()> task);

    // Returns when all tasks given so far are done; false if that takes longer than `longest`;
    // max(): however long it takes.
    bool wait_until_idle(std::chrono::milliseconds longest);
    bool is_idle();
    // As wait_until_idle(), but false once the thread has had nothing of the processor for as long as `standstill`: who
    // comes after that, while it still stands, does not wait so long again.
    bool wait_while_it_works(std::chrono::milliseconds standstill);
    // What the thread has had of the processor. Any thread.
    std::uint64_t cpu_ns() const noexcept;

private:
    static void* enter(void* self) noexcept;
    void run();
    bool start();
    bool has_done_all() const { return tasks_.empty() && !busy_; }  // REQUIRES: mutex_ is held

    const char* const name_;
    std::mutex mutex_;
    std::condition_variable changed_;
    std::deque<std::function<void()>> tasks_;
    bool busy_ = false;        // with a task that is no longer in tasks_
    bool has_thread_ = false;  // it ends with the process
    static constexpr clockid_t no_clock = -1;
    std::atomic<clockid_t> clock_{no_clock};
    // When a wait was given up: what the thread had had of the processor, and since when.
    std::uint64_t stood_still_at_ns_ = UINT64_MAX;
    std::chrono::steady_clock::time_point stands_still_since_;
};

}  // namespace prof
