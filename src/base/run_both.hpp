// SPDX-License-Identifier: Apache-2.0
// Two functions beside each other, on two threads. For commands, which have the machine to themselves.
#pragma once

#include <exception>
#include <system_error>
#include <thread>

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

}  // namespace prof
