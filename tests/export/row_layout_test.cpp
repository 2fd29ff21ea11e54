// SPDX-License-Identifier: Apache-2.0
#include "export/layout/row_layout.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <vector>

namespace prof::row_layout_test {
namespace {

TEST(NestingRows, PutNestedIntervalsOnOneRow) {
    nesting_rows rows;
    EXPECT_EQ(rows.place(0, 100), 0U);
    EXPECT_EQ(rows.place(0, 100), 0U);
    EXPECT_EQ(rows.place(10, 50), 0U);
    EXPECT_EQ(rows.place(50, 100), 0U);
    EXPECT_EQ(rows.place(100, 120), 0U);
    EXPECT_EQ(rows.row_count(), 1U);
}

TEST(NestingRows, SpillPartlyOverlappingIntervals) {
    nesting_rows rows;
    EXPECT_EQ(rows.place(0, 100), 0U);
    EXPECT_EQ(rows.place(50, 150), 1U);
    EXPECT_EQ(rows.place(60, 90), 0U);
    EXPECT_EQ(rows.place(80, 200), 2U);
    EXPECT_EQ(rows.place(150, 160), 0U);
    EXPECT_EQ(rows.row_count(), 3U);
}

TEST(NestingRows, BeginTheSearchAtTheGivenRow) {
    nesting_rows rows;
    EXPECT_EQ(rows.place(0, 10, 1), 1U);
    EXPECT_EQ(rows.place(1, 9), 0U);
    EXPECT_EQ(rows.row_count(), 2U);
}

TEST(DisjointRows, NeverNestIntervals) {
    disjoint_rows rows;
    EXPECT_EQ(rows.place(0, 100), 0U);
    EXPECT_EQ(rows.place(10, 20), 1U);
    EXPECT_EQ(rows.place(20, 110), 1U);
    EXPECT_EQ(rows.place(100, 105), 0U);
}

// Whatever comes, no two intervals of a row overlap in part: checked pair by pair.
TEST(NestingRows, HoldForAnyIntervals) {
    struct interval {
        std::int64_t start;
        std::int64_t end;
        std::size_t row = 0;
    };
    std::mt19937 random(3);
    for (int round = 0; round < 300; ++round) {
        std::vector<interval> all;
        for (int i = 0; i < 40; ++i) {
            const std::int64_t start = random() % 60;
            all.push_back({start, start + static_cast<std::int64_t>(random() % 30)});
        }
        std::sort(all.begin(), all.end(), [](const interval& a, const interval& b) {
            return a.start != b.start ? a.start < b.start : a.end > b.end;
        });
        nesting_rows rows;
        for (interval& i : all) i.row = rows.place(i.start, i.end, random() % 2);
        for (const interval& a : all) {
            for (const interval& b : all) {
                const bool cut = a.start < b.start && b.start < a.end && a.end < b.end;
                ASSERT_FALSE(a.row == b.row && cut) << a.start << '-' << a.end << ' ' << b.start << '-' << b.end;
            }
        }
    }
}

}  // namespace
}  // namespace prof::row_layout_test
