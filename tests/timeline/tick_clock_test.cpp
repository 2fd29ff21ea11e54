// SPDX-License-Identifier: Apache-2.0
#include "timeline/tick_clock.hpp"

#include <random>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace prof::tick_clock_test {
namespace {

using testing::HasSubstr;
using testing::IsEmpty;

clock_snapshot at(std::uint64_t ticks, std::uint64_t realtime_ns, std::uint64_t cupti_ns = 0) {
    return {.ticks = ticks, .realtime_ns = realtime_ns, .cupti_ns = cupti_ns, .spread_ticks = 10};
}

tick_clock tsc(std::vector<clock_snapshot> snapshots) { return {std::move(snapshots), tick_source::tsc, 0, 0}; }

TEST(TickClock, InterpolatesBetweenSnapshots) {
    // 2.5 ticks a nanosecond, then 2 ticks a nanosecond.
    const tick_clock clock = tsc({at(1000, 50'000), at(3500, 51'000), at(5500, 52'000)});
    EXPECT_EQ(clock.to_ns(1000), 50'000);
    EXPECT_EQ(clock.to_ns(2250), 50'500);
    EXPECT_EQ(clock.to_ns(3500), 51'000);
    EXPECT_EQ(clock.to_ns(4500), 51'500);
    EXPECT_THAT(clock.notes(), IsEmpty());
}

TEST(TickClock, AcceptsSnapshotsInAnyOrderAndTwice) {
    const tick_clock clock = tsc({at(3500, 51'000), at(1000, 50'000), at(3500, 51'000)});
    EXPECT_EQ(clock.to_ns(2250), 50'500);
}

TEST(TickClock, ExtrapolatesWithTheRateOfDistantSnapshots) {
    // The first two snapshots are 1 µs apart and read 100 ns wrong: their rate would be 10 % off. Over the whole
    // second it is 2 ticks a nanosecond.
    const tick_clock clock =
        tsc({at(2'000'000'000, 1'000'000'000), at(2'000'002'000, 1'000'001'100), at(4'000'000'000, 2'000'000'000)});
    EXPECT_EQ(clock.to_ns(1'800'000'000), 900'000'000);
    // Seen from the end, the misread snapshot is the nearest one far enough: 100 ns in a second, 10 ns in a tenth.
    EXPECT_EQ(clock.to_ns(4'200'000'000), 2'100'000'000 - 10);
}

TEST(TickClock, GivesCuptisTimeWhereItIsKnown) {
    const tick_clock clock = tsc({at(0, 1'000'000, 5'000'000), at(2000, 1'001'000, 5'001'000)});
    EXPECT_EQ(clock.to_ns(1000), 5'000'500);
}

TEST(TickClock, ShiftsSnapshotsWithoutCuptiByTheClocksOffset) {
    // CUPTI came with the second snapshot, 300 ns ahead of CLOCK_REALTIME, later 500 ns ahead.
    const tick_clock clock = tsc({at(0, 10'000), at(1000, 11'000, 11'300), at(2000, 12'000, 12'500), at(3000, 13'000)});
    EXPECT_EQ(clock.to_ns(0), 10'300);
    EXPECT_EQ(clock.to_ns(500), 10'800);
    EXPECT_EQ(clock.to_ns(3000), 13'500);
}

TEST(TickClock, InterpolatesTheClocksOffsetWhereCuptiIsBusy) {
    // CUPTI's clock goes at a tenth of CLOCK_REALTIME's rate. By the nearest distance it would be set back in between.
    const tick_clock clock = tsc({at(0, 10'000, 10'000), at(1600, 11'600), at(4000, 14'000, 10'400)});
    EXPECT_EQ(clock.to_ns(1600), 10'160);
    EXPECT_EQ(clock.to_ns(2800), 10'280);
    EXPECT_THAT(clock.notes(), IsEmpty());
}

TEST(TickClock, NeedsOneSnapshotForANanosecondClock) {
    const tick_clock clock{{at(100, 5'000)}, tick_source::monotonic_ns, 0, 0};
    EXPECT_EQ(clock.to_ns(40), 4'940);
    EXPECT_EQ(clock.to_ns(1100), 6'000);
    EXPECT_THAT(clock.notes(), IsEmpty());
}

TEST(TickClock, NotesTheRateItAssumesWithOneSnapshot) {
    const tick_clock clock = tsc({at(1000, 5'000)});
    EXPECT_EQ(clock.to_ns(3500), 6'000);
    ASSERT_EQ(clock.notes().size(), 1U);
    EXPECT_THAT(clock.notes()[0], HasSubstr("2.5 GHz"));
}

TEST(TickClock, PutsTheFirstRecordAtTheCapturesCreationWithoutSnapshots) {
    const tick_clock clock{{}, tick_source::monotonic_ns, 700, 9'000};
    EXPECT_EQ(clock.to_ns(700), 9'000);
    EXPECT_EQ(clock.to_ns(800), 9'100);
    ASSERT_EQ(clock.notes().size(), 1U);
    EXPECT_THAT(clock.notes()[0], HasSubstr("no clock snapshot"));
}

clock_snapshot read(std::uint64_t monotonic_ns, std::int64_t realtime_ns, std::uint64_t cupti_ns = 0) {
    return {.ticks = 2 * monotonic_ns,
            .monotonic_ns = monotonic_ns,
            .realtime_ns = static_cast<std::uint64_t>(realtime_ns),
            .cupti_ns = cupti_ns,
            .spread_ticks = 10};
}

// Setting the system's clock changes neither the order nor the length of anything.
TEST(TickClock, IgnoresChangesOfTheSystemClock) {
    constexpr std::uint64_t second = 1'000'000'000;
    constexpr std::int64_t epoch = 1'700'000'000'000'000'000;
    for (const std::int64_t hours : {-1, 1}) {
        const std::int64_t set = hours * 3'600'000'000'000;
        const tick_clock clock =
            tsc({read(10 * second, epoch), read(11 * second, epoch + 1'000'000'000),
                 read(12 * second, epoch + 2'000'000'000 + set), read(13 * second, epoch + 3'000'000'000 + set)});
        for (const std::uint64_t half_second : {20U, 21U, 22U, 23U, 24U, 25U, 26U, 30U}) {
            EXPECT_EQ(clock.to_ns(half_second * second),
                      epoch + (static_cast<std::int64_t>(half_second) - 20) * 500'000'000);
        }
        ASSERT_EQ(clock.notes().size(), 1U);
        EXPECT_THAT(clock.notes()[0], HasSubstr(hours < 0 ? "set back by 3600.0 s" : "set forward by 3600.0 s"));
    }
    // Slewed, as by ntpd, both clocks go alike; what is read between them does not count.
    EXPECT_THAT(tsc({read(10 * second, epoch), read(20 * second, epoch + 10'000'001'000)}).notes(), IsEmpty());
}

// Before CUPTI was attached, and where it was busy, the offset to its clock is taken from the clock that cannot be set.
TEST(TickClock, IgnoresChangesOfTheSystemClockBeforeCupti) {
    constexpr std::uint64_t second = 1'000'000'000;
    constexpr std::int64_t epoch = 1'700'000'000'000'000'000;
    const tick_clock clock =
        tsc({read(10 * second, epoch), read(11 * second, epoch + 61'000'000'000),
             read(12 * second, epoch + 62'000'000'000, 112 * second), read(13 * second, epoch, 113 * second)});
    for (const std::uint64_t at : {10U, 11U, 12U, 13U, 14U}) {
        EXPECT_EQ(clock.to_ns(2 * at * second), static_cast<std::int64_t>((100 + at) * second));
    }
}

TEST(TickClock, StandsStillWhenTheSystemClockIsSetBack) {
    const tick_clock clock = tsc({at(0, 1'000), at(1000, 2'000), at(2000, 500), at(3000, 3'000)});
    EXPECT_EQ(clock.to_ns(1500), 2'000);
    EXPECT_EQ(clock.to_ns(3000), 3'000);
    EXPECT_THAT(clock.notes()[0], HasSubstr("set back"));
}

// One a second at 2.5 ticks a nanosecond, each read in 200 ticks.
std::vector<clock_snapshot> five_seconds() {
    std::vector<clock_snapshot> snapshots;
    for (std::uint64_t i = 1; i <= 5; ++i) {
        snapshots.push_back({.ticks = i * 2'500'000'000,
                             .realtime_ns = i * 1'000'000'000,
                             .cupti_ns = i * 1'000'000'000,
                             .spread_ticks = 200});
    }
    return snapshots;
}

// The third was interrupted for 10 ms before CUPTI's clock was read: it shows 5 ms more than in the middle. So does the
// last, at the edge.
TEST(TickClock, IgnoresAnInterruptedSnapshot) {
    for (const std::size_t interrupted : {2U, 4U, 0U}) {
        std::vector<clock_snapshot> snapshots = five_seconds();
        snapshots[interrupted].cupti_ns += 5'000'000;
        snapshots[interrupted].spread_ticks = 25'000'000;
        const tick_clock clock = tsc(snapshots);
        for (std::int64_t half_second = 1; half_second <= 12; ++half_second) {
            EXPECT_EQ(clock.to_ns(static_cast<std::uint64_t>(half_second) * 1'250'000'000), half_second * 500'000'000);
        }
        EXPECT_THAT(clock.notes(), IsEmpty());
    }
}

// In 100,000 ticks lie 50,000 ns on either side at most; a clock that was slewed by 1 ms meanwhile is not straight.
TEST(TickClock, UsesAnInterruptedSnapshotWithinItsWidth) {
    std::vector<clock_snapshot> snapshots = five_seconds();
    snapshots[2].cupti_ns += 1'000'000;
    snapshots[2].spread_ticks = 100'000;
    EXPECT_EQ(tsc(snapshots).to_ns(7'500'000'000), 3'000'950'000);
}

// CUPTI came with the third snapshot, which was interrupted between its clock and CLOCK_REALTIME.
TEST(TickClock, TakesNoOffsetFromAnInterruptedSnapshot) {
    std::vector<clock_snapshot> snapshots = five_seconds();
    snapshots[0].cupti_ns = snapshots[1].cupti_ns = 0;
    snapshots[2].cupti_ns += 5'000'000;
    snapshots[2].spread_ticks = 25'000'000;
    EXPECT_EQ(tsc(snapshots).to_ns(2'500'000'000), 1'000'000'000);
}

TEST(TickClock, NotesTheErrorWhenAllSnapshotsWereInterrupted) {
    std::vector<clock_snapshot> snapshots = five_seconds();
    for (clock_snapshot& s : snapshots) s.spread_ticks = 1'000'000;
    snapshots[1].spread_ticks = 5'000'000;
    const tick_clock clock = tsc(snapshots);
    EXPECT_EQ(clock.to_ns(5'000'000'000), 2'000'000'000);
    ASSERT_EQ(clock.notes().size(), 1U);
    EXPECT_THAT(clock.notes()[0], HasSubstr("may be off by 1000 µs"));
}

TEST(TickClock, NeverGoesBackAsTicksGrow) {
    std::mt19937_64 random{1};
    for (int round = 0; round < 200; ++round) {
        std::vector<clock_snapshot> snapshots;
        std::uint64_t ticks = 1'000'000'000'000;
        std::uint64_t ns = 1'700'000'000'000'000'000;
        for (int i = 0; i < 6; ++i) {
            snapshots.push_back(at(ticks, ns));
            ticks += 1 + random() % 5'000;
            ns += random() % 2'000;
        }
        const tick_clock clock = tsc(snapshots);
        tick_clock::cursor cursor = 0;
        std::int64_t previous = 0;
        for (std::uint64_t t = snapshots[0].ticks - 3'000; t < ticks + 3'000; t += 1 + random() % 3) {
            const std::int64_t now = clock.to_ns(t, cursor);
            ASSERT_GE(now, previous);
            ASSERT_EQ(now, clock.to_ns(t)) << "the cursor is no more than a hint";
            previous = now;
        }
    }
}

TEST(TickClock, KeepsAbsurdTicksInsideSixtyThreeBits) {
    const tick_clock clock = tsc({at(1000, UINT64_MAX), at(1001, 5)});
    EXPECT_GE(clock.to_ns(0), 0);
    EXPECT_GE(clock.to_ns(UINT64_MAX), 0);
}

}  // namespace
}  // namespace prof::tick_clock_test
