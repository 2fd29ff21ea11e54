// SPDX-License-Identifier: Apache-2.0
// Guards a write against signals that the kernel sends to the writing thread along with an error, and whose default
// action ends the process: SIGXFSZ when the process's limit on file sizes is reached, and SIGPIPE when a pipe has no
// reader. libprof writes inside another program, so it guards its writes.
#pragma once

#include <pthread.h>
#include <signal.h>

#include <cerrno>
#include <ctime>
#include <initializer_list>

namespace prof {

// Blocks the signals on this thread for as long as this object lives. A signal that is raised meanwhile is discarded;
// one that was pending before stays pending. errno is preserved. A few system calls: not for the hot path.
class signal_guard {
public:
    explicit signal_guard(std::initializer_list<int> signals) noexcept {
        sigset_t kept;
        sigset_t pending;
        sigemptyset(&kept);
        sigemptyset(&taken_back_);
        sigpending(&pending);
        for (const int number : signals) {
            sigaddset(&kept, number);
            if (sigismember(&pending, number) != 1) sigaddset(&taken_back_, number);
        }
        pthread_sigmask(SIG_BLOCK, &kept, &before_);
    }
    ~signal_guard() {
        const int error_number = errno;
        const timespec at_once{};
        while (sigtimedwait(&taken_back_, nullptr, &at_once) > 0) {
        }
        pthread_sigmask(SIG_SETMASK, &before_, nullptr);
        errno = error_number;
    }
    signal_guard(const signal_guard&) = delete;
    signal_guard& operator=(const signal_guard&) = delete;

private:
    sigset_t taken_back_;
    sigset_t before_;
};

class file_size_signal_guard : public signal_guard {
public:
    file_size_signal_guard() noexcept : signal_guard({SIGXFSZ}) {}
};

}  // namespace prof
