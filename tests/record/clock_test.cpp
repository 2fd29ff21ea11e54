#include "record/clock.hpp"

#include <gtest/gtest.h>

namespace prof {
namespace {

TEST(Clock, TicksDoNotGoBackwards) {
    std::uint64_t last = ticks_now();
    for (int i = 0; i < 10'000; ++i) {
        const std::uint64_t now = ticks_now();
        ASSERT_GE(now, last);
        last = now;
    }
}

TEST(Clock, ASnapshotLiesBetweenTheReadsAroundIt) {
    const std::uint64_t ticks_before = ticks_now();
    const std::uint64_t real_before = clock_ns(CLOCK_REALTIME);
    const std::uint64_t mono_before = clock_ns(CLOCK_MONOTONIC);
    const clock_snapshot s = take_clock_snapshot(nullptr);
    EXPECT_GE(s.ticks, ticks_before);
    EXPECT_LE(s.ticks, ticks_now());
    EXPECT_GE(s.realtime_ns, real_before);
    EXPECT_LE(s.realtime_ns, clock_ns(CLOCK_REALTIME));
    EXPECT_GE(s.monotonic_ns, mono_before);
    EXPECT_LE(s.monotonic_ns, clock_ns(CLOCK_MONOTONIC));
    EXPECT_EQ(s.cupti_ns, 0U);
}

TEST(Clock, ASnapshotAsksTheGpuClockItIsGiven) {
    const clock_snapshot s = take_clock_snapshot(+[]() noexcept -> std::uint64_t { return 42; });
    EXPECT_EQ(s.cupti_ns, 42U);
}

}  // namespace
}  // namespace prof
