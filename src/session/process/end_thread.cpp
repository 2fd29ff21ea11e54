// SPDX-License-Identifier: Apache-2.0
#include "session/process/end_thread.hpp"

#include <pthread.h>

#include <cstring>
#include <string>

#include "base/clock.hpp"
#include "base/error.hpp"
#include "base/helper_thread.hpp"
#include "base/thread_sanitizer.hpp"

namespace prof {

void end_thread::start() {
    const session_lock lock(starting_);
    if (is_there_) return;
    sem_init(&asked_, 0, 0);
    const int result = create_helper_thread(thread_, enter, this);
    if (result != 0) throw error(std::string{"no thread for the end: "} + std::strerror(result));
    (void)pthread_getcpuclockid(thread_, &clock_);
    is_there_.store(true);
}

void end_thread::end() noexcept {
    const session_lock lock(starting_);
    if (!is_there_.exchange(false)) return;
    ends_ = true;
    ask();
    pthread_join(thread_, nullptr);
    ends_ = false;
    sem_destroy(&asked_);
}

// By the monotonic clock, except under the thread sanitizer, which does not follow that call.
int end_thread::wait_for_a_while() noexcept {
    timespec end{};
    clock_gettime(has_thread_sanitizer ? CLOCK_REALTIME : CLOCK_MONOTONIC, &end);
    end.tv_sec += alone_check_interval.count();
    return has_thread_sanitizer ? sem_timedwait(&asked_, &end) : sem_clockwait(&asked_, CLOCK_MONOTONIC, &end);
}

void* end_thread::enter(void* self) noexcept {
    pthread_setname_np(pthread_self(), "prof-end");
    auto* const own = static_cast<end_thread*>(self);
    for (;;) {
        if (own->wait_for_a_while() != 0) {
            exit_if_alone();
        } else if (own->ends_) {
            return nullptr;
        } else {
            own->work_();
        }
    }
}

std::uint64_t end_thread::cpu_ns() const noexcept { return clock_ns(clock_); }

}  // namespace prof
