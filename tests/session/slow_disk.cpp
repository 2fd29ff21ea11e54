// SPDX-License-Identifier: Apache-2.0
// A disk that does not answer, for programs that are run with it preloaded: between slow_disk_block() and
// slow_disk_release() no write to a file whose name ends in ".prof" comes back, and none is made.
// slow_disk_await_writer() returns when a thread is in one. Or one that is full: after slow_disk_fill() the first of
// these writes writes a half, and the others are refused until slow_disk_release(). slow_disk_await_refusals() returns
// when two have been. After slow_disk_block_copies() it is the files that are being made of a capture (".prof.tmp-") to
// which no write comes back; after slow_disk_block_exports() no trace and no summary is made.
#include <dlfcn.h>
#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <condition_variable>
#include <cstdarg>
#include <cstdio>
#include <mutex>
#include <string_view>

namespace {

// Never destroyed: a thread may wait for the disk when the process ends, and a condition variable's end for that.
std::mutex& mutex = *new std::mutex;
std::condition_variable& changed = *new std::condition_variable;
bool is_blocked = false;
bool copies_are_blocked = false;
bool exports_are_blocked = false;
int writers = 0;
bool is_full = false;
int refusals = 0;

enum class file_kind { other, capture, copy, exported };

file_kind kind_of(std::string_view name) {
    if (name.find(".prof.tmp-") != std::string_view::npos) return file_kind::copy;
    if (name.find(".trace.json") != name.npos || name.find(".summary.txt") != name.npos) return file_kind::exported;
    return name.ends_with(".prof") ? file_kind::capture : file_kind::other;
}

file_kind kind_of(int descriptor) {
    char link[64];
    char target[4096];
    std::snprintf(link, sizeof link, "/proc/self/fd/%d", descriptor);
    const ssize_t bytes = readlink(link, target, sizeof target);
    if (bytes <= 0) return file_kind::other;
    return kind_of(std::string_view{target, static_cast<std::size_t>(bytes)});
}

void await_answer(std::unique_lock<std::mutex>& lock, const bool& blocked) {
    ++writers;
    changed.notify_all();
    changed.wait(lock, [&] { return !blocked; });
    --writers;
}

void set_disk(bool blocked, bool full, bool copies_blocked = false, bool exports_blocked = false) {
    const std::lock_guard lock(mutex);
    is_blocked = blocked;
    is_full = full;
    copies_are_blocked = copies_blocked;
    exports_are_blocked = exports_blocked;
    refusals = 0;
    changed.notify_all();
}

}  // namespace

extern "C" {

__attribute__((visibility("default"))) void slow_disk_block() { set_disk(true, false); }
__attribute__((visibility("default"))) void slow_disk_block_copies() { set_disk(false, false, true); }
__attribute__((visibility("default"))) void slow_disk_block_exports() { set_disk(false, false, false, true); }
__attribute__((visibility("default"))) void slow_disk_fill() { set_disk(false, true); }
__attribute__((visibility("default"))) void slow_disk_release() { set_disk(false, false); }

__attribute__((visibility("default"))) void slow_disk_await_writer() {
    std::unique_lock lock(mutex);
    changed.wait(lock, [] { return writers != 0; });
}

__attribute__((visibility("default"))) void slow_disk_await_refusals() {
    std::unique_lock lock(mutex);
    changed.wait(lock, [] { return refusals >= 3; });
}

__attribute__((visibility("default"))) int open(const char* path, int flags, ...) {
    static const auto next = reinterpret_cast<decltype(&::open)>(dlsym(RTLD_NEXT, "open"));
    va_list rest;
    va_start(rest, flags);
    const mode_t mode = (flags & (O_CREAT | __O_TMPFILE)) != 0 ? va_arg(rest, mode_t) : 0;
    va_end(rest);
    const file_kind kind = (flags & O_CREAT) != 0 ? kind_of(std::string_view{path}) : file_kind::other;
    if (kind == file_kind::capture || kind == file_kind::exported) {
        std::unique_lock lock(mutex);
        await_answer(lock, kind == file_kind::capture ? is_blocked : exports_are_blocked);
    }
    return next(path, flags, mode);
}

__attribute__((visibility("default"))) ssize_t write(int descriptor, const void* bytes, std::size_t count) {
    static const auto next = reinterpret_cast<decltype(&::write)>(dlsym(RTLD_NEXT, "write"));
    const file_kind kind = kind_of(descriptor);
    if (kind == file_kind::capture || kind == file_kind::copy) {
        std::unique_lock lock(mutex);
        await_answer(lock, kind == file_kind::copy ? copies_are_blocked : is_blocked);
        if (is_full && kind == file_kind::capture) {
            changed.notify_all();
            if (++refusals == 1 && count > 1) return next(descriptor, bytes, count / 2);
            errno = ENOSPC;
            return -1;
        }
    }
    return next(descriptor, bytes, count);
}

}  // extern "C"
