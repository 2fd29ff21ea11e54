// SPDX-License-Identifier: Apache-2.0
// A daemon thread's blocking call, and the time in which its return ends the process. When Python ends, a thread of a
// daemon's that comes back from such a call is ended by pthread_exit, and where a function on its stack is noexcept, as
// a C++ destructor is, that is an abort.
//
// Loaded by a Python program and preloaded, so that it stands between libprof and the C library:
//
//   block()            does not come back before Python has begun to end; then it does while libprof writes more to its
//                      capture than a few last words, or, after come_back_within(), at a moment drawn from that time.
//   come_back_within(ms, seed)
#include <dlfcn.h>
#include <sys/types.h>
#include <time.h>
#include <unistd.h>

#include <atomic>
#include <cstddef>
#include <cstdio>
#include <cstring>

namespace {

// What the end of a capture takes when all else is written.
constexpr std::size_t last_words_bytes = 4096;

std::atomic<bool> ends{false};  // Python does
std::atomic<bool> is_at_work{false};
std::atomic<bool> is_blocked{false};
std::atomic<std::size_t> bytes_written{0};
std::atomic<long> longest_ms{0};
std::atomic<unsigned> seed{0};

template <typename TFunction>
TFunction* of_python(const char* name) {
    return reinterpret_cast<TFunction*>(dlsym(RTLD_DEFAULT, name));
}

bool python_ends() {
    static auto* const now = of_python<int()>("Py_IsFinalizing");
    static auto* const before = of_python<int()>("_Py_IsFinalizing");
    const auto asked = now != nullptr ? now : before;
    if (asked != nullptr && asked() != 0) ends = true;
    return ends;
}

void pause_us(long us) {
    const timespec time{us / 1'000'000, us % 1'000'000 * 1000};
    (void)nanosleep(&time, nullptr);
}

bool is_capture(int descriptor) {
    char link[64];
    char target[4096];
    std::snprintf(link, sizeof link, "/proc/self/fd/%d", descriptor);
    const ssize_t bytes = readlink(link, target, sizeof target);
    return bytes > 5 && std::memcmp(target + bytes - 5, ".prof", 5) == 0;
}

}  // namespace

extern "C" {

__attribute__((visibility("default"))) void come_back_within(long ms, unsigned with_seed) {
    seed = with_seed;
    longest_ms = ms;
}

// By ctypes.PyDLL, which holds Python's lock.
__attribute__((visibility("default"))) void block() noexcept {
    auto* const save = of_python<void*()>("PyEval_SaveThread");
    auto* const restore = of_python<void(void*)>("PyEval_RestoreThread");
    void* const state = save();
    is_blocked = true;
    while (!python_ends()) pause_us(200);
    if (longest_ms != 0) {
        unsigned drawn = seed;
        pause_us(rand_r(&drawn) % (longest_ms * 1000));
    } else {
        while (!is_at_work) pause_us(200);
    }
    restore(state);
}

__attribute__((visibility("default"))) int is_in_block() { return is_blocked ? 1 : 0; }

__attribute__((visibility("default"))) ssize_t write(int descriptor, const void* bytes, std::size_t count) {
    static const auto next = reinterpret_cast<decltype(&::write)>(dlsym(RTLD_NEXT, "write"));
    if (is_blocked && longest_ms == 0 && python_ends() && is_capture(descriptor)) {
        if (bytes_written.fetch_add(count) + count > last_words_bytes) {
            is_at_work = true;
            pause_us(2'000'000);  // the thread has come back
        }
    }
    return next(descriptor, bytes, count);
}

}  // extern "C"
