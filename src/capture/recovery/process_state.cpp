// SPDX-License-Identifier: Apache-2.0
#include "capture/recovery/process_state.hpp"

#include <unistd.h>

#include <cstdio>
#include <cstring>

#include "base/clock.hpp"
#include "base/short_file.hpp"

namespace prof {
namespace {

// The tolerance is a few seconds, since the kernel counts start times in ticks.
bool is_in_proc(std::uint32_t pid, std::uint64_t created_realtime_ns) {
    const std::string text = text_of_file("/proc/" + std::to_string(pid) + "/stat");
    if (text.empty()) return false;
    char state = 0;
    unsigned long long start_ticks = 0;
    const char* const after_name = std::strrchr(text.c_str(), ')');
    if (after_name == nullptr || std::sscanf(after_name,
                                             ") %c %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s "
                                             "%*s %*s %llu",
                                             &state, &start_ticks) != 2) {
        return true;
    }
    const auto ticks_per_second = static_cast<std::uint64_t>(sysconf(_SC_CLK_TCK));
    const std::uint64_t since_boot_ns = start_ticks * (1'000'000'000 / ticks_per_second);
    const std::uint64_t boot_realtime_ns = clock_ns(CLOCK_REALTIME) - clock_ns(CLOCK_BOOTTIME);
    constexpr std::uint64_t slack_ns = 2'000'000'000;
    return state != 'Z' && boot_realtime_ns + since_boot_ns <= created_realtime_ns + slack_ns;
}

}  // namespace

bool is_this_host(const std::string& name) {
    char own[256] = {};
    return name.empty() || (gethostname(own, sizeof own - 1) == 0 && name == own);
}

process_state state_of_process(std::uint32_t pid, std::uint64_t created_realtime_ns, const std::string& host) {
    if (!is_this_host(host)) return process_state::unknown;
    return is_in_proc(pid, created_realtime_ns) ? process_state::running : process_state::gone;
}

}  // namespace prof
