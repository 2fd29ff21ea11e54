// SPDX-License-Identifier: Apache-2.0
// Detects when the program's threads have left the CUPTI code that they were in.
#pragma once

#include <chrono>

namespace prof {

// Waits until every other thread of the process has either run for five milliseconds since the call, or sleeps. A
// thread that was in a short function at the call has then left it. The exception is a thread that sleeps inside that
// function: the code that puts it to sleep must count it.
//
// Returns false if this does not happen within `limit` (a thread is stopped or starves), or if the threads' states
// cannot be read. Takes at least 0.4 ms, and with many threads about ten microseconds for each. Any thread.
bool other_threads_are_quiescent(std::chrono::milliseconds limit) noexcept;

}  // namespace prof
