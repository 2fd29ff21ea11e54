// SPDX-License-Identifier: Apache-2.0
// Keeps a thread of the program's from being cancelled inside libprof. pthread_cancel unwinds the thread at the next
// call that may wait (open, write, fallocate, nanosleep, a condition variable). libprof makes such calls where the
// program does not expect one, holding locks and in noexcept functions, which the unwinding would turn into
// std::terminate.
#pragma once

#include <pthread.h>

namespace prof {

// While this object lives, a request to cancel the thread stays pending. It then takes effect where it would without
// libprof: at the program's next cancellation point. A thread with asynchronous cancellation is cancelled by the
// destructor, which therefore is not noexcept: such a guard must not be in a noexcept function if it is to hold for
// these threads, too. Two system-call-free functions of glibc; safe in a signal handler; not for the hot path.
class cancellation_guard {
public:
    cancellation_guard() noexcept { (void)pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &before_); }
    ~cancellation_guard() noexcept(false) { (void)pthread_setcancelstate(before_, nullptr); }
    cancellation_guard(const cancellation_guard&) = delete;
    cancellation_guard& operator=(const cancellation_guard&) = delete;

private:
    int before_ = PTHREAD_CANCEL_ENABLE;
};

}  // namespace prof
