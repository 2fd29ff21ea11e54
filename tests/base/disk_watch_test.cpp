// SPDX-License-Identifier: Apache-2.0
#include "base/disk_watch.hpp"

#include <gtest/gtest.h>

#include <thread>

namespace prof::disk_watch_test {
namespace {

// The time in calls may be less than a moment before, where a call ends just then. The difference wrapped, and a wait
// for a disk that answered was given up.
TEST(DiskWatch, CountsNoTimeWithoutCalls) {
    const disk_watch watch;
    EXPECT_EQ(watch.standstill_ns(), 0U);
    EXPECT_EQ(watch.spent_ns(), 0U);
    EXPECT_EQ(watch.spent_since(7), 0U) << "less than before is nothing, and not a number of 64 bits that wrapped";
}

TEST(DiskWatch, MeasuresNestedCallsFromTheInnermost) {
    disk_watch watch;
    std::thread([&] {
        watch.watch_this_thread();
        const disk_call outer;
        { const disk_call inner; }
        EXPECT_GT(watch.spent_ns(), 0U);
    }).join();
    EXPECT_EQ(watch.standstill_ns(), 0U);
    { const disk_call of_a_thread_without_a_watch; }
    EXPECT_EQ(watch.standstill_ns(), 0U);
}

}  // namespace
}  // namespace prof::disk_watch_test
