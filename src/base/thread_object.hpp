// SPDX-License-Identifier: Apache-2.0
// One object a thread, for what is too large for the static TLS block, of which libprof.so may take a few hundred bytes
// when it is loaded late. A thread's object is made on the heap at its first use and deleted at the end of the thread.
//
// It is deleted by a key of pthreads and not by the destructor of a thread_local object: destructors of the program's
// that run later may still use it, and get a new one, which is deleted in a further round of the destructors. The
// object of a thread that ends the process is never deleted.
#pragma once

#include <pthread.h>

#include <new>
#include <utility>

namespace prof {

// All objects of the type `TObject` on a thread are the same. Not in a signal handler.
template <typename TObject>
class thread_object {
public:
    // Null if there is no memory.
    static TObject* here() noexcept {
        if (object == nullptr) [[unlikely]]
            make();
        return object;
    }

private:
    [[gnu::noinline]] static void make() noexcept {
        (void)pthread_once(&once, make_key);
        object = new (std::nothrow) TObject;
        // Without a key (a process has 1,024 of them) the object outlives its thread.
        if (has_key && object != nullptr) (void)pthread_setspecific(key, object);
    }
    static void make_key() noexcept { has_key = pthread_key_create(&key, end_of_thread) == 0; }
    static void end_of_thread(void*) noexcept { delete std::exchange(object, nullptr); }

    static inline thread_local constinit TObject* object = nullptr;
    static inline constinit pthread_once_t once = PTHREAD_ONCE_INIT;
    static inline constinit pthread_key_t key = 0;
    static inline constinit bool has_key = false;
};

}  // namespace prof
