// SPDX-License-Identifier: Apache-2.0
// Memory for libprof's own threads inside another program. The C library's malloc gives a new thread an arena, 64 MB of
// address space, at its first call of malloc or free. A program under a limit on its address space cannot spare that.
// So what such a thread allocates by operator new is mapped from the kernel here, and what it frees of the C library's
// memory is freed by the next thread of the program that allocates (session/process/operator_new.cpp).
//
// Any thread, also in a signal's handler that interrupts one of these functions. One lock, held for a few instructions
// or for a system call. Blocks are aligned as malloc's are, and have nothing in front of them: tools that look for
// leaks follow pointers to the beginning of a block.
#pragma once

#include <cstddef>

namespace prof {

// Whether operator new on this thread takes memory from here. Set on libprof's own threads, and on threads that they
// make.
extern __thread bool takes_own_memory __attribute__((tls_model("initial-exec")));

// Null if the kernel has none. REQUIRES: takes_own_memory.
void* allocate_own_memory(std::size_t bytes) noexcept;
// Whether the block is from allocate_own_memory(), of this process or, in a forked child, of its parent; else it is the
// C library's. No lock.
bool is_own_memory(const void* block) noexcept;
// REQUIRES: is_own_memory(block).
void free_own_memory(void* block) noexcept;

// In a forked child, from pthread_atfork: another thread of the parent may have been in here. What was allocated stays
// as it is, and is not allocated again. Takes no lock.
void leave_own_memory_to_parent() noexcept;

}  // namespace prof
