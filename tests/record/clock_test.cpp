#include "record/clock.hpp"

#include <gtest/gtest.h>

#include <fstream>
#include <string>

#include "record/tick_source.hpp"
#include "scratch_directory.hpp"

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

// Lists as kernels have them. It is no word of another's name.
TEST(Clock, TheCounterIsNotReadWhereTheKernelDoesNotTrustIt) {
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
}  // namespace prof
