// SPDX-License-Identifier: Apache-2.0
// The host clock of every record, and the snapshots that map it to the GPU's clock.
//
// ticks_now() is the one clock read of a hook. It reads the invariant time stamp counter if the processor has one
// (about 9 ns on the machines measured), else CLOCK_MONOTONIC in ns. Any thread. Ticks have no fixed unit: a reader
// converts them to nanoseconds with the clock_snapshots of the capture.
#pragma once

#include <cstdint>
#include <ctime>

#if defined(__x86_64__)
#include <x86intrin.h>
#endif

namespace prof {

enum class tick_source : std::uint32_t { monotonic_ns = 0, tsc = 1 };

// One instant on every clock: for each clock the middle of its reads.
struct clock_snapshot {
    std::uint64_t ticks = 0;
    std::uint64_t monotonic_ns = 0;
    std::uint64_t realtime_ns = 0;
    std::uint64_t cupti_ns = 0;      // cuptiGetTimestamp; 0 without CUPTI
    std::uint64_t spread_ticks = 0;  // width of the interval that contains all reads: the snapshot's uncertainty
};
static_assert(sizeof(clock_snapshot) == 40);

tick_source detect_tick_source() noexcept;

// The clock that ticks_now() reads; constant for the life of the process.
inline const tick_source active_tick_source = detect_tick_source();

inline std::uint64_t clock_ns(clockid_t clock) noexcept {
    timespec now{};
    clock_gettime(clock, &now);
    return static_cast<std::uint64_t>(now.tv_sec) * 1'000'000'000U + static_cast<std::uint64_t>(now.tv_nsec);
}

// Whether ticks_now() reads tick_counter(), which calls no function.
inline bool has_tick_counter() noexcept { return active_tick_source == tick_source::tsc; }
inline std::uint64_t tick_counter() noexcept {
#if defined(__x86_64__)
    return __rdtsc();
#else
    return 0;  // unreachable: has_tick_counter() is false here
#endif
}

inline std::uint64_t ticks_now() noexcept { return has_tick_counter() ? tick_counter() : clock_ns(CLOCK_MONOTONIC); }

// Reads all clocks. `cupti_now` returns CUPTI's clock in ns, and may be null. A few microseconds; any thread.
clock_snapshot take_clock_snapshot(std::uint64_t (*cupti_now)() noexcept) noexcept;

}  // namespace prof
