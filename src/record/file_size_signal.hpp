// SIGXFSZ, which the kernel sends beside the error when a process's limit on the size of files is met. Its default
// action ends the process: what belongs to somebody else's process guards its writes from it.
#pragma once

#include <pthread.h>
#include <signal.h>

#include <cerrno>
#include <ctime>

namespace prof {

// Keeps the signal from the thread for as long as it lives. The one that is raised meanwhile is taken back; one that
// was pending before stays. errno stays as it is. A few system calls: not for the hot path.
class file_size_signal_guard {
public:
    file_size_signal_guard() noexcept {
        sigemptyset(&signal_);
        sigaddset(&signal_, SIGXFSZ);
        sigset_t pending;
        sigpending(&pending);
        was_pending_ = sigismember(&pending, SIGXFSZ) == 1;
        pthread_sigmask(SIG_BLOCK, &signal_, &before_);
    }
    ~file_size_signal_guard() {
        const int error_number = errno;
        if (!was_pending_) {
            const timespec at_once{};
            sigtimedwait(&signal_, nullptr, &at_once);
        }
        pthread_sigmask(SIG_SETMASK, &before_, nullptr);
        errno = error_number;
    }
    file_size_signal_guard(const file_size_signal_guard&) = delete;
    file_size_signal_guard& operator=(const file_size_signal_guard&) = delete;

private:
    sigset_t signal_;
    sigset_t before_;
    bool was_pending_ = false;
};

}  // namespace prof
