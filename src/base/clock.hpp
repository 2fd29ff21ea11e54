// The host clock of every record, and the snapshots that map it to the GPU's.
//
// ticks_now() is the one clock read a hook makes: the invariant time stamp counter where the processor has one (about
// 9 ns on the machines measured), else CLOCK_MONOTONIC in ns. Callable from any thread. Ticks mean nothing by
// themselves: a reader converts them to nanoseconds with the clock_snapshots of the capture.
#pragma once

#include <cstdint>
#include <ctime>

#if defined(__x86_64__)
#include <x86intrin.h>
#endif

namespace prof {

enum class tick_source : std::uint32_t { monotonic_ns = 0, tsc = 1 };

// One instant on every clock: the middle of the reads of each.
struct clock_snapshot {
    std::uint64_t ticks = 0;
    std::uint64_t monotonic_ns = 0;
    std::uint64_t realtime_ns = 0;
    std::uint64_t cupti_ns = 0;      // cuptiGetTimestamp; 0 without CUPTI
    std::uint64_t spread_ticks = 0;  // width of the interval in which all were read: the snapshot's uncertainty
};
static_assert(sizeof(clock_snapshot) == 40);

tick_source detect_tick_source() noexcept;

// Which clock ticks_now() reads; constant for the life of the process.
inline const tick_source active_tick_source = detect_tick_source();

inline std::uint64_t clock_ns(clockid_t clock) noexcept {
    timespec now{};
    clock_gettime(clock, &now);
    return static_cast<std::uint64_t>(now.tv_sec) * 1'000'000'000U + static_cast<std::uint64_t>(now.tv_nsec);
}

// Whether ticks_now() is tick_counter(), which calls nothing.
inline bool has_tick_counter() noexcept { return active_tick_source == tick_source::tsc; }
inline std::uint64_t tick_counter() noexcept {
#if defined(__x86_64__)
    return __rdtsc();
#else
    return 0;  // never asked
#endif
}

inline std::uint64_t ticks_now() noexcept { return has_tick_counter() ? tick_counter() : clock_ns(CLOCK_MONOTONIC); }

// `cupti_now` may be null; it returns CUPTI's clock in ns. A few microseconds; any thread.
clock_snapshot take_clock_snapshot(std::uint64_t (*cupti_now)() noexcept) noexcept;

}  // namespace prof
