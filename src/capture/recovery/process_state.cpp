// SPDX-License-Identifier: Apache-2.0
#include "capture/recovery/process_state.hpp"

#include <unistd.h>

#include <cstdio>
#include <cstring>
#include <optional>

#include "base/clock.hpp"
#include "base/short_file.hpp"

namespace prof {
namespace {

struct process_in_proc {
    char state = 0;
    std::uint64_t start_ticks = 0;  // since the machine was booted
};

// Nullopt if /proc does not have the process, or not in the known form.
std::optional<process_in_proc> find_in_proc(std::uint32_t pid) {
    const std::string text = text_of_file("/proc/" + std::to_string(pid) + "/stat");
    const char* const after_name = std::strrchr(text.c_str(), ')');
    char state = 0;
    unsigned long long start_ticks = 0;
    if (after_name == nullptr || std::sscanf(after_name,
                                             ") %c %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s "
                                             "%*s %llu",
                                             &state, &start_ticks) != 2) {
        return std::nullopt;
    }
    return process_in_proc{state, start_ticks};
}

std::string start_of(const process_in_proc& process) {
    const std::string boot = text_of_file("/proc/sys/kernel/random/boot_id");
    return boot.substr(0, boot.find('\n')) + ' ' + std::to_string(process.start_ticks);
}

// The tolerance is a few seconds, since the kernel counts start times in ticks.
bool was_started_by(const process_in_proc& process, std::uint64_t realtime_ns) noexcept {
    const auto ticks_per_second = static_cast<std::uint64_t>(sysconf(_SC_CLK_TCK));
    const std::uint64_t since_boot_ns = process.start_ticks * (1'000'000'000 / ticks_per_second);
    const std::uint64_t boot_realtime_ns = clock_ns(CLOCK_REALTIME) - clock_ns(CLOCK_BOOTTIME);
    constexpr std::uint64_t slack_ns = 2'000'000'000;
    return boot_realtime_ns + since_boot_ns <= realtime_ns + slack_ns;
}

}  // namespace

bool is_this_host(const std::string& name) {
    char own[256] = {};
    return name.empty() || (gethostname(own, sizeof own - 1) == 0 && name == own);
}

std::string start_of_process(std::uint32_t pid) {
    const auto found = find_in_proc(pid);
    return found ? start_of(*found) : std::string{};
}

process_state state_of_process(std::uint32_t pid, const std::string& start, std::uint64_t created_realtime_ns,
                               const std::string& host) {
    if (!is_this_host(host)) return process_state::unknown;
    const auto found = find_in_proc(pid);
    if (!found || found->state == 'Z') return process_state::gone;
    const bool is_it = start.empty() ? was_started_by(*found, created_realtime_ns) : start_of(*found) == start;
    return is_it ? process_state::running : process_state::gone;
}

}  // namespace prof
