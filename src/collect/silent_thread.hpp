// Threads of ours in somebody else's program.
#pragma once

#include <pthread.h>
#include <signal.h>

namespace prof {

// pthread_create, of a thread that blocks every signal, so that no handler of the program ever runs on it.
inline int create_silent_thread(pthread_t& thread, void* (*run)(void*), void* argument) noexcept {
    sigset_t all;
    sigset_t before;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);  // the new thread inherits it
    const int result = pthread_create(&thread, nullptr, run, argument);
    pthread_sigmask(SIG_SETMASK, &before, nullptr);
    return result;
}

}  // namespace prof
