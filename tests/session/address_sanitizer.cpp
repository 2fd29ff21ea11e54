// SPDX-License-Identifier: Apache-2.0
// What clang 16's address sanitizer lacks in a program that forks while its threads allocate. It does not lock its
// allocator around a fork (later versions do): a lock that another thread holds at that moment is never released in
// the child, and a child that allocates waits for it for ever.
#include <pthread.h>
#include <unistd.h>

namespace __lsan {
void LockThreadRegistry();
void UnlockThreadRegistry();
void LockAllocator();
void UnlockAllocator();
}  // namespace __lsan

namespace __sanitizer {
void StackDepotLockAll();
void StackDepotUnlockAll();
}  // namespace __sanitizer

namespace {

const pid_t parent = getpid();

void lock_all() {
    __lsan::LockThreadRegistry();
    __lsan::LockAllocator();
    __sanitizer::StackDepotLockAll();
}

void unlock_all() {
    __sanitizer::StackDepotUnlockAll();
    __lsan::UnlockAllocator();
    __lsan::UnlockThreadRegistry();
}

void register_fork_handlers() { pthread_atfork(lock_all, unlock_all, unlock_all); }

// Registered before any library's constructor registers its own handlers: those may allocate, and this one's locks are
// taken after them and released before them.
__attribute__((section(".preinit_array"), used)) void (*const first)() = register_fork_handlers;

}  // namespace

// The sanitizer looks for leaks when a program exits. A forked child has none of its parent's threads, whose stacks
// and registers would be searched for pointers.
extern "C" int __lsan_is_turned_off() { return getpid() == parent ? 0 : 1; }
