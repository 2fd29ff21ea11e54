// SPDX-License-Identifier: Apache-2.0
#include "base/clock.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <string_view>

#include "base/tick_source.hpp"

#if defined(__x86_64__)
#include <cpuid.h>
#endif

namespace prof {

bool kernel_trusts_counter(const char* list) noexcept {
    const int file = open(list, O_RDONLY | O_CLOEXEC);
    if (file < 0) return true;
    char text[512];
    const ssize_t bytes = read(file, text, sizeof text);
    close(file);
    if (bytes <= 0) return true;
    std::string_view left{text, static_cast<std::size_t>(bytes)};
    while (!left.empty()) {
        const std::size_t end = left.find_first_of(" \n");
        if (left.substr(0, end) == "tsc") return true;
        left.remove_prefix(end == std::string_view::npos ? left.size() : end + 1);
    }
    return false;
}

tick_source detect_tick_source() noexcept {
#if defined(__x86_64__)
    // CPUID 8000_0007h EDX bit 8: the TSC runs at a constant rate in all power states.
    unsigned a = 0;
    unsigned b = 0;
    unsigned c = 0;
    unsigned d = 0;
    const bool is_invariant = __get_cpuid(0x80000007U, &a, &b, &c, &d) != 0 && (d & (1U << 8)) != 0;
    if (is_invariant && kernel_trusts_counter()) return tick_source::tsc;
#endif
    return tick_source::monotonic_ns;
}

namespace {

// The difference may be negative if a clock was set back; half of it is still right.
std::uint64_t middle_of(std::uint64_t first, std::uint64_t last) noexcept {
    return first + static_cast<std::uint64_t>(static_cast<std::int64_t>(last - first) / 2);
}

}  // namespace

clock_snapshot take_clock_snapshot(std::uint64_t (*cupti_now)() noexcept) noexcept {
    // Uses the narrowest of a few tries: one that was interrupted between its reads is wide.
    constexpr int tries = 8;
    clock_snapshot best;
    best.spread_ticks = UINT64_MAX;
    for (int i = 0; i < tries; ++i) {
        clock_snapshot s;
        const std::uint64_t before = ticks_now();
        // The clocks are read in this order and then in reverse, so that all have the same middle. Otherwise one
        // clock's instant would always lie a part of the width before or after the others'.
        const std::uint64_t realtime_ns = clock_ns(CLOCK_REALTIME);
        const std::uint64_t monotonic_ns = clock_ns(CLOCK_MONOTONIC);
        s.cupti_ns = cupti_now != nullptr ? cupti_now() : 0;
        s.monotonic_ns = middle_of(monotonic_ns, clock_ns(CLOCK_MONOTONIC));
        s.realtime_ns = middle_of(realtime_ns, clock_ns(CLOCK_REALTIME));
        const std::uint64_t after = ticks_now();
        s.spread_ticks = after - before;
        s.ticks = before + s.spread_ticks / 2;
        if (s.spread_ticks < best.spread_ticks) best = s;
    }
    return best;
}

}  // namespace prof
