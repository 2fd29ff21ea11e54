// SPDX-License-Identifier: Apache-2.0
#include "base/clock.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <fstream>
#include <string>

#include "base/tick_source.hpp"
#include "support/scratch_directory.hpp"

namespace prof::clock_test {
namespace {

TEST(Clock, TicksDoNotGoBackwards) {
    std::uint64_t last = ticks_now();
    for (int i = 0; i < 10'000; ++i) {
        const std::uint64_t now = ticks_now();
        ASSERT_GE(now, last);
        last = now;
    }
}

TEST(Clock, SnapshotLiesBetweenTheReadsAroundIt) {
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

TEST(Clock, SnapshotReadsTheGivenGpuClock) {
    const clock_snapshot s = take_clock_snapshot(+[]() noexcept -> std::uint64_t { return 42; });
    EXPECT_EQ(s.cupti_ns, 42U);
}

// A clock that takes long to read shows the middle of that time, and all that is read beside it has the same middle.
TEST(Clock, SnapshotIsOneInstantOnEachClock) {
    constexpr std::uint64_t half_ns = 100'000;
    const auto slow = +[]() noexcept -> std::uint64_t {
        const auto spend = [](std::uint64_t from_ns) {
            while (clock_ns(CLOCK_MONOTONIC) - from_ns < half_ns) continue;
        };
        spend(clock_ns(CLOCK_MONOTONIC));
        const std::uint64_t middle_ns = clock_ns(CLOCK_REALTIME);
        spend(clock_ns(CLOCK_MONOTONIC));
        return middle_ns;
    };
    // Whatever interrupts a snapshot may shift it. Eight are tried for one; one of some is not interrupted.
    std::int64_t best_ns = INT64_MAX;
    for (int i = 0; i < 20; ++i) {
        const clock_snapshot s = take_clock_snapshot(slow);
        best_ns = std::min(best_ns, std::abs(static_cast<std::int64_t>(s.realtime_ns - s.cupti_ns)));
    }
    EXPECT_LT(best_ns, static_cast<std::int64_t>(half_ns / 4));
}

// Lists as kernels have them. It is no word of another's name.
TEST(Clock, DoesNotReadACounterThatTheKernelDistrusts) {
    const test::scratch_directory scratch;
    const std::string list = scratch.path + "/available_clocksource";
    const auto trusts = [&](const char* text) {
        std::ofstream(list) << text;
        return kernel_trusts_counter(list.c_str());
    };
    for (const char* good : {"tsc kvm-clock \n", "kvm-clock tsc acpi_pm \n", "hpet tsc\n", "tsc"})
        EXPECT_TRUE(trusts(good));
    for (const char* bad : {"hpet acpi_pm \n", "hyperv_clocksource_tsc_page acpi_pm \n", "kvm-clock\n", "tsc-early "}) {
        EXPECT_FALSE(trusts(bad)) << bad;
    }
    EXPECT_TRUE(trusts("")) << "nothing is said";
    EXPECT_TRUE(kernel_trusts_counter((scratch.path + "/none").c_str()));
}

}  // namespace
}  // namespace prof::clock_test
