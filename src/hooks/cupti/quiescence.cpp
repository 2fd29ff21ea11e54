// SPDX-License-Identifier: Apache-2.0
#include "hooks/cupti/quiescence.hpp"

#include <dirent.h>
#include <fcntl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <exception>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/clock.hpp"
#include "base/own_descriptor.hpp"

namespace prof {
namespace {

// CUPTI spends about 1'000 ns in a callback, and 100'000 ns on clearing a buffer, or ten times that if its pages are
// new.
constexpr std::int64_t long_enough_ns = 5'000'000;
constexpr timespec pause{0, 200'000};

struct other_thread {
    pid_t tid;
    std::int64_t ran_ns;  // when the wait began
};

// The CPU time of a thread of this process, in nanoseconds; -1 if it is unknown. The kernel numbers the threads' clocks
// like this (include/linux/posix-timers.h); glibc's own function needs a pthread_t.
std::int64_t ran_ns(pid_t tid) noexcept {
    constexpr clockid_t per_thread_by_scheduler = 6;
    timespec ran{};
    const auto clock = static_cast<clockid_t>((~static_cast<unsigned>(tid) << 3) | per_thread_by_scheduler);
    if (clock_gettime(clock, &ran) != 0) return -1;
    return std::int64_t{ran.tv_sec} * 1'000'000'000 + ran.tv_nsec;
}

// The state as in proc(5): R, S, D, T, …; 0 if there is no such thread, '?' if the state is unknown.
char state_of(pid_t tid) {
    const std::string path = "/proc/self/task/" + std::to_string(tid) + "/stat";
    const int number = open(path.c_str(), O_RDONLY | O_CLOEXEC);
    if (number < 0) return errno == ENOENT || errno == ESRCH ? '\0' : '?';
    own_descriptor file;
    file.take(number);
    char text[128] = {};  // number, (name), state; a name has at most 15 characters
    const ssize_t length = read(file.get(), text, sizeof text - 1);
    const bool is_gone = length < 0 && errno == ESRCH;
    file.close();
    if (is_gone) return 0;
    const char* const name_end = length > 0 ? std::strrchr(text, ')') : nullptr;
    return name_end != nullptr && name_end[1] == ' ' ? name_end[2] : '?';
}

// Null if the threads are unknown: no descriptor is left, or there is no /proc.
std::optional<std::vector<other_thread>> other_threads() {
    const std::unique_ptr<DIR, int (*)(DIR*)> folder(opendir("/proc/self/task"), closedir);
    if (folder == nullptr) return std::nullopt;
    std::vector<other_thread> found;
    const auto own = static_cast<pid_t>(syscall(SYS_gettid));
    while (const dirent* const entry = readdir(folder.get())) {
        const auto tid = static_cast<pid_t>(std::strtol(entry->d_name, nullptr, 10));
        if (tid > 0 && tid != own) found.push_back({tid, ran_ns(tid)});
    }
    return found;
}

bool is_quiescent(const other_thread& thread) {
    if (thread.ran_ns >= 0 && ran_ns(thread.tid) >= thread.ran_ns + long_enough_ns) return true;
    const char state = state_of(thread.tid);
    if (state == 0 || state == 'Z' || state == 'X') return true;
    return state == 'S';
}

}  // namespace

bool other_threads_are_quiescent(std::chrono::milliseconds limit) noexcept {
    try {
        const auto threads = other_threads();
        if (!threads) return false;
        const std::uint64_t began = clock_ns(CLOCK_MONOTONIC);
        const auto limit_ns = static_cast<std::uint64_t>(std::chrono::nanoseconds(limit).count());
        const auto in_time = [&] { return clock_ns(CLOCK_MONOTONIC) - began < limit_ns; };
        // Twice in a row, because a thread that slept when it was checked may have been woken in the middle of a
        // function by one that was checked later.
        int in_a_row = 0;
        do {
            nanosleep(&pause, nullptr);
            const bool all = std::all_of(threads->begin(), threads->end(),
                                         [&](const other_thread& thread) { return in_time() && is_quiescent(thread); });
            in_a_row = all ? in_a_row + 1 : 0;
            if (in_a_row == 2) return true;
        } while (in_time());
    } catch (const std::exception&) {
    }
    return false;
}

}  // namespace prof
