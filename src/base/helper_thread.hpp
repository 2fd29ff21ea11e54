// Threads of ours in somebody else's program.
#pragma once

#include <pthread.h>

#include <chrono>

namespace prof {

// pthread_create, of a thread that blocks every signal that others send, so that no handler of the program runs on it
// in their stead. Those of a fault of its own (SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGTRAP, SIGSYS) are not blocked: the
// program's handlers see such a death, too. Where the calling thread is kept on one core, to have it for itself, the
// new one gets the others that the process was allowed when libprof was loaded; else it may run where the calling one
// may.
int create_helper_thread(pthread_t& thread, void* (*run)(void*), void* argument) noexcept;

// In a forked child, from pthread_atfork: the threads of its parent's are not there.
void forget_helper_threads() noexcept;

// A process whose main thread has ended by pthread_exit goes on until its last thread ends, and then exits with status
// 0. Threads of ours would keep it for ever: when no others are left, this ends it so, on a thread of its own. Two
// system calls. To be called now and then by each that may sleep for long; by one that sleeps until it is woken, so
// often.
void exit_if_alone() noexcept;
inline constexpr std::chrono::seconds between_looks_whether_alone{1};

}  // namespace prof
