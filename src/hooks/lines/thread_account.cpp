// SPDX-License-Identifier: Apache-2.0
#include "hooks/lines/thread_account.hpp"

#include <fcntl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <cstdio>
#include <cstring>
#include <ctime>

#include "base/clock.hpp"
#include "base/own_descriptor.hpp"

namespace prof {
namespace {

using text_buffer = std::array<char, 256>;

// The beginning of a file of the thread's below /proc; "" if it cannot be read.
std::string_view read_of_thread(pid_t tid, const char* file, text_buffer& out) noexcept {
    std::array<char, 64> path{};
    std::snprintf(path.data(), path.size(), "/proc/self/task/%d/%s", tid, file);
    own_descriptor descriptor;
    descriptor.take(::open(path.data(), O_RDONLY | O_CLOEXEC));
    const int number = descriptor.get();
    const ssize_t got = number < 0 ? -1 : ::read(number, out.data(), out.size());
    descriptor.close();
    return {out.data(), got < 0 ? 0 : static_cast<std::size_t>(got)};
}

template <typename TNumber>
bool take_number(std::string_view& text, TNumber& out, int base = 10) noexcept {
    text.remove_prefix(std::min(text.find_first_not_of(' '), text.size()));
    if (base == 16 && text.starts_with("0x")) text.remove_prefix(2);
    const auto [end, failure] = std::from_chars(text.data(), text.data() + text.size(), out, base);
    text.remove_prefix(static_cast<std::size_t>(end - text.data()));
    return failure == std::errc{};
}

// Of this process's thread, up to now also while it runs.
bool cpu_time(pid_t tid, std::uint64_t& out) noexcept {
    constexpr unsigned of_thread = 4, scheduled = 2;
    const auto clock = static_cast<clockid_t>(~static_cast<unsigned>(tid) << 3 | of_thread | scheduled);
    timespec time{};
    if (clock_gettime(clock, &time) != 0) return false;
    out = static_cast<std::uint64_t>(time.tv_sec) * 1'000'000'000 + static_cast<std::uint64_t>(time.tv_nsec);
    return true;
}

struct call_name {
    long number;
    std::string_view name;
    bool has_descriptor = false;  // what it is of follows: "a pipe"
};
constexpr std::string_view on_descriptors = "waiting for input (poll)";
constexpr std::string_view on_disk = "writing to disk";
constexpr std::string_view on_names = "looking up a file";
constexpr call_name call_names[] = {
    {SYS_futex, "a lock or another thread"},
    {SYS_read, "reading ", true},
    {SYS_pread64, "reading ", true},
    {SYS_readv, "reading ", true},
    {SYS_preadv, "reading ", true},
    {SYS_write, "writing to ", true},
    {SYS_pwrite64, "writing to ", true},
    {SYS_writev, "writing to ", true},
    {SYS_recvfrom, "reading ", true},
    {SYS_recvmsg, "reading ", true},
    {SYS_sendto, "writing to ", true},
    {SYS_sendmsg, "writing to ", true},
    {SYS_connect, "connecting"},
    {SYS_accept, "waiting for a connection"},
    {SYS_accept4, "waiting for a connection"},
    {SYS_ppoll, on_descriptors},
    {SYS_pselect6, on_descriptors},
    {SYS_epoll_pwait, on_descriptors},
    {SYS_nanosleep, "a sleep"},
    {SYS_clock_nanosleep, "a sleep"},
    {SYS_fsync, on_disk},
    {SYS_fdatasync, on_disk},
    {SYS_msync, on_disk},
    {SYS_openat, on_names},
    {SYS_newfstatat, on_names},
    {SYS_wait4, "another process"},
    {SYS_waitid, "another process"},
    {SYS_flock, "a lock of a file"},
    {SYS_fcntl, "a lock of a file"},
    {SYS_ioctl, "a device"},
    {SYS_munmap, "the process's memory"},
    {SYS_mmap, "the process's memory"},
    {SYS_madvise, "the process's memory"},
#ifdef SYS_poll
    {SYS_poll, on_descriptors},
    {SYS_select, on_descriptors},
    {SYS_epoll_wait, on_descriptors},
    {SYS_open, on_names},
    {SYS_stat, on_names},
#endif
};

std::string_view kind_of_descriptor(std::uint64_t number) noexcept {
    std::array<char, 64> path{};
    std::array<char, 32> target{};
    std::snprintf(path.data(), path.size(), "/proc/self/fd/%d", static_cast<int>(number));
    const ssize_t size = readlink(path.data(), target.data(), target.size());
    const std::string_view text{target.data(), size < 0 ? 0 : static_cast<std::size_t>(size)};
    if (text.starts_with("socket:")) return "a socket";
    if (text.starts_with("pipe:")) return "a pipe";
    if (text.starts_with("anon_inode:")) return "an event";
    if (text.starts_with("/dev/")) return "a device";
    return text.starts_with('/') ? "a file" : "a descriptor";
}

std::string_view text_of_call(long call, std::string_view arguments, std::array<char, 64>& buffer) noexcept {
    if (call < 0) return "memory that is not there yet (page fault)";
    std::size_t size = 0;
    const auto append = [&](std::string_view more) {
        const std::size_t bytes = std::min(more.size(), buffer.size() - size);
        std::copy_n(more.begin(), bytes, buffer.begin() + static_cast<std::ptrdiff_t>(size));
        size += bytes;
    };
    const auto* const found = std::find_if(std::begin(call_names), std::end(call_names),
                                           [&](const call_name& row) { return row.number == call; });
    if (found == std::end(call_names)) {
        std::array<char, 32> number{};
        append("system call ");
        append({number.data(), std::to_chars(number.data(), number.data() + number.size(), call).ptr});
    } else {
        append(found->name);
        std::uint64_t descriptor = 0;
        if (found->has_descriptor && take_number(arguments, descriptor, 16)) append(kind_of_descriptor(descriptor));
    }
    return {buffer.data(), size};
}

// The states of the kernel (man 5 proc).
bool is_blocked_by_state(pid_t tid, thread_look& out) noexcept {
    text_buffer buffer;
    const std::string_view text = read_of_thread(tid, "stat", buffer);
    const std::size_t end = text.rfind(')');
    if (end == std::string_view::npos || end + 2 >= text.size()) return false;
    const char state = text[end + 2];
    if (state == 'D') out.blocked_in = "the disk";
    return state == 'S' || state == 'D';
}

}  // namespace

bool look_at_thread(pid_t tid, thread_look& out, std::array<char, 64>& buffer) noexcept {
    out = {};
    out.now_ns = clock_ns(CLOCK_MONOTONIC);
    if (tid <= 0 || !cpu_time(tid, out.ran_ns)) return false;
    text_buffer text;
    std::string_view counters = read_of_thread(tid, "schedstat", text);
    std::uint64_t ran_ns = 0;  // without the latest
    if (!take_number(counters, ran_ns) || !take_number(counters, out.waited_ns)) return false;
    std::string_view call = read_of_thread(tid, "syscall", text);
    if (call.starts_with("running")) return true;
    long number = 0;
    if (!take_number(call, number)) {
        out.is_blocked = is_blocked_by_state(tid, out);
        return true;
    }
    out.is_blocked = true;
    out.blocked_in = text_of_call(number, call, buffer);
    return true;
}

const stretch_account& thread_accountant::add(std::uint64_t since, const thread_look& look) noexcept {
    constexpr double all = UINT16_MAX;
    const auto set = [&](double ran, double waited) {
        ran = std::clamp(ran, 0.0, 1.0);
        waited = std::clamp(waited, 0.0, 1.0 - ran);
        account_.ran = static_cast<std::uint16_t>(ran * all);
        account_.waited = static_cast<std::uint16_t>(waited * all);
    };
    const auto less = [](std::uint64_t later, std::uint64_t earlier) {
        return later > earlier ? static_cast<double>(later - earlier) : 0.0;
    };
    if (account_.looks == 0 || since != since_) {
        // One look says whether it is blocked. Whether it ran or waited it does not, since this thread may itself have
        // taken the CPU: that is as since the look before.
        const double ran = less(look.ran_ns, latest_.ran_ns), waited = less(look.waited_ns, latest_.waited_ns);
        const double share = ran + waited > 0 ? ran / (ran + waited) : 1;
        account_ = {.looks = 1};
        if (!look.is_blocked) set(share, 1 - share);
        since_ = since;
        first_ = look;
    } else {
        const double time = std::max(less(look.now_ns, first_.now_ns), 1.0);
        set(less(look.ran_ns, first_.ran_ns) / time, less(look.waited_ns, first_.waited_ns) / time);
        ++account_.looks;
    }
    if (!look.blocked_in.empty()) {
        const std::size_t size = std::min(look.blocked_in.size(), account_.blocked_in.size() - 1);
        std::copy_n(look.blocked_in.begin(), size, account_.blocked_in.begin());
        account_.blocked_in[size] = 0;
    }
    latest_ = look;
    latest_.blocked_in = {};
    first_.blocked_in = {};
    return account_;
}

}  // namespace prof
