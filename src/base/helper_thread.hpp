// SPDX-License-Identifier: Apache-2.0
// Threads of libprof's own inside another program: their creation, and the end of a process that has no others left.
#pragma once

#include <pthread.h>

#include <chrono>
#include <cstddef>
#include <cstdint>

namespace prof {

// How much room a helper thread has for its calls. `usual`: as much as the program's threads have by default.
enum class stack_room : std::uint8_t { small, usual };

// Like pthread_create, with its result: 0 or an error number. But the new thread blocks every signal that is sent from
// outside, so that no handler of the program runs on it. Signals of its own faults (SIGSEGV, SIGBUS, SIGFPE, SIGILL,
// SIGTRAP, SIGSYS) are not blocked, so that the program's handlers also run for such a crash.
//
// The new thread may run where the calling thread may. The exception is a calling thread that is pinned to one core: to
// leave it that core, the new thread gets the other cores that the process was allowed when libprof was loaded.
//
// A small stack (small_stack_bytes) leaves the program its address space, and so does the new thread's memory
// (base/own_memory.hpp). A thread that calls functions of the program needs the usual stack.
int create_helper_thread(pthread_t& thread, void* (*run)(void*), void* argument,
                         stack_room room = stack_room::small) noexcept;
inline constexpr std::size_t small_stack_bytes = 512U << 10;  // besides the thread-local variables of all libraries

// On a helper thread that a function outside libprof has ended by pthread_exit, from a destructor of thread-specific
// data: the count is for threads that return.
void helper_thread_was_ended() noexcept;

// For a forked child, from pthread_atfork: resets the count, because the parent's helper threads do not exist there.
void forget_helper_threads() noexcept;

// Whether the calling thread is the only one that is not a helper thread. A second one may be about to end: it is
// waited for, some ms at most. Otherwise this is one system call.
bool has_one_thread_of_the_program() noexcept;
// Helper threads have been joined: returns when the kernel does not count them any more, after some ms at the latest.
void await_end_of_helper_threads() noexcept;

// Ends the process if only helper threads are left. A process whose main thread has ended by pthread_exit goes on until
// its last thread ends, and then exits with status 0. Helper threads would keep it alive for ever. So this calls
// exit(0), on a thread of its own, once no other threads are left.
//
// Two system calls. Each helper thread that may sleep for long calls it from time to time, at the interval below.
void exit_if_alone() noexcept;
inline constexpr std::chrono::seconds alone_check_interval{1};

}  // namespace prof
