// SPDX-License-Identifier: Apache-2.0
// Two functions beside each other, on two threads, and tasks that two threads divide among them. For commands, which
// have the machine to themselves.
#pragma once

#include <atomic>
#include <cstddef>
#include <exception>
#include <functional>
#include <system_error>
#include <thread>
#include <utility>
#include <vector>

#include "base/own_memory.hpp"

namespace prof {

// Calls both, and returns when both have returned. `other` runs on a thread of its own if `on_two_threads` and there is
// one; else after `one`. What a function throws is thrown on, that of `one` first.
template <typename TOne, typename TOther>
void run_both(bool on_two_threads, TOne&& one, TOther&& other) {
    std::exception_ptr failure;
    std::jthread thread;
    if (on_two_threads) {
        try {
            thread = std::jthread([&, is_own = takes_own_memory] {
                takes_own_memory = is_own;
                try {
                    other();
                } catch (...) {
                    failure = std::current_exception();
                }
            });
        } catch (const std::system_error&) {  // no thread is left: one after the other
        }
    }
    one();
    if (thread.joinable()) {
        thread.join();
    } else {
        other();
    }
    if (failure) std::rethrow_exception(failure);
}

// Tasks that one thread makes, and that both threads of run_both() may call: each task is called once, in no order.
class shared_tasks {
public:
    // Whoever makes the tasks gives them with add_all(), or gives up by destroying it.
    class maker {
    public:
        explicit maker(shared_tasks& shared) : shared_(shared) {}
        maker(const maker&) = delete;
        maker& operator=(const maker&) = delete;
        ~maker() { shared_.finish(); }

        void add_all(std::vector<std::function<void()>> tasks) {
            shared_.tasks_ = std::move(tasks);
            shared_.finish();
        }

    private:
        shared_tasks& shared_;
    };

    // Calls tasks until none is left. Waits for the maker. A task throws through it; the rest is for the other thread.
    void work() {
        has_all_.wait(false);
        for (std::size_t task = next_++; task < tasks_.size(); task = next_++) tasks_[task]();
    }

private:
    void finish() noexcept {
        has_all_.store(true);
        has_all_.notify_all();
    }

    std::vector<std::function<void()>> tasks_;
    std::atomic<std::size_t> next_{0};
    std::atomic<bool> has_all_{false};
};

}  // namespace prof
