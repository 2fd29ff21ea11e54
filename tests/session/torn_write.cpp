// SPDX-License-Identifier: Apache-2.0
// Preloaded before libprof: a write to a capture (*.prof) that is cut short because the process is killed in it.
//
//   TORN_AT=N        the N-th write, or
//   TORN_CHUNK=TYPE  the first in which a chunk of this type stands, or the TORN_NTH-th; it is cut inside that chunk
//   TORN_PERMILLE    how much of it is written: of the write or, if one is given, of the chunk
//   TORN_COPY        a file that gets all of what was to be written
#include <fcntl.h>
#include <signal.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string_view>

#include "capture/format.hpp"

namespace {

long number(const char* name, long otherwise) {
    const char* const text = std::getenv(name);
    return text == nullptr ? otherwise : std::atol(text);
}

bool is_capture(int descriptor) {
    char link[64];
    char target[4096];
    std::snprintf(link, sizeof link, "/proc/self/fd/%d", descriptor);
    const ssize_t bytes = readlink(link, target, sizeof target);
    return bytes > 0 && std::string_view{target, static_cast<std::size_t>(bytes)}.ends_with(".prof");
}

std::atomic<long> writes{0};

// How many of the bytes are written before the process dies; `count`: it does not.
std::size_t cut_at(const char* bytes, std::size_t count) {
    const auto permille = static_cast<std::size_t>(number("TORN_PERMILLE", 500));
    const long type = number("TORN_CHUNK", 0);
    if (type == 0) return ++writes == number("TORN_AT", -1) ? count * permille / 1000 : count;
    std::size_t at = std::memcmp(bytes, prof::format::magic.data(), prof::format::magic.size()) == 0
                         ? sizeof(prof::format::file_header)
                         : 0;
    while (at + sizeof(prof::format::chunk_header) <= count) {
        prof::format::chunk_header header;
        std::memcpy(&header, bytes + at, sizeof header);
        const std::size_t whole = sizeof header + header.stored_bytes;
        if (header.type == static_cast<std::uint32_t>(type)) {
            return ++writes == number("TORN_NTH", 1) ? at + whole * permille / 1000 : count;
        }
        at += (whole + 7) / 8 * 8;
    }
    return count;
}

void copy(const void* bytes, std::size_t count) {
    const char* const path = std::getenv("TORN_COPY");
    const long file = path == nullptr ? -1 : syscall(SYS_openat, AT_FDCWD, path, O_WRONLY | O_CREAT | O_TRUNC, 0600);
    if (file >= 0) syscall(SYS_write, file, bytes, count);
}

}  // namespace

extern "C" __attribute__((visibility("default"))) ssize_t write(int descriptor, const void* bytes, std::size_t count) {
    if (count != 0 && is_capture(descriptor)) {
        const std::size_t cut = cut_at(static_cast<const char*>(bytes), count);
        if (cut < count) {
            copy(bytes, count);
            if (cut != 0) syscall(SYS_write, descriptor, bytes, cut);
            kill(getpid(), SIGKILL);
            for (;;) pause();
        }
    }
    return syscall(SYS_write, descriptor, bytes, count);
}
