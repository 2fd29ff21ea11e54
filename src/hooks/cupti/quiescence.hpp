// Whether the program's threads have left the code of CUPTI's that they were in.
#pragma once

#include <chrono>

namespace prof {

// Waits until each other thread of the process that was running when this was called, or was about to, has run for
// five milliseconds since, or sleeps: then it is no longer in a short function that it was in at the call, unless it
// sleeps in that: such threads are to be counted by who may put them to sleep. Says false if that is not so within
// `limit` (a thread is stopped, or starves), or that is unknown. Takes two fifths of a millisecond at least, and with
// many threads some ten microseconds for each. Any thread.
bool other_threads_are_quiescent(std::chrono::milliseconds limit) noexcept;

}  // namespace prof
