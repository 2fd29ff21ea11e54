// SPDX-License-Identifier: Apache-2.0
// When key frames are due and what is trimmed, with numbers worked by hand.
#include "collect/history/key_frames.hpp"

#include <gtest/gtest.h>

namespace prof::test::key_frames_test {
namespace {

constexpr std::uint64_t s = 1'000'000'000;

TEST(KeyFrames, ByTimeComeEightToAPeriodAndKeepAllOfIt) {
    key_frames frames({.time_ns = 80 * s, .bytes = 0}, 1000 * s);
    EXPECT_FALSE(frames.is_due(1009 * s, 5'000'000'000));
    EXPECT_TRUE(frames.is_due(1010 * s, 0));
    for (std::uint64_t i = 1; i <= 9; ++i) {
        frames.add((1000 + 10 * i) * s, i * 100, i * 100 + 50);
        EXPECT_EQ(frames.begin((1000 + 10 * i) * s, i * 100 + 50), i == 9 ? 100U : 0U) << i;
    }
    // The frame of 1020 is 80 seconds old at 1100, and not before.
    EXPECT_EQ(frames.begin(1100 * s - 1, 1000), 0U);
    EXPECT_EQ(frames.begin(1100 * s, 1000), 200U);
    EXPECT_EQ(frames.begin(1100 * s, 1000), 0U);
    // Much later: the latest one that is old enough, of which there are several.
    EXPECT_EQ(frames.begin(1160 * s, 1000), 800U);
}

TEST(KeyFrames, ByTimeAreASecondApartAtLeast) {
    key_frames frames({.time_ns = 2 * s, .bytes = 0}, 1000 * s);
    EXPECT_FALSE(frames.is_due(1001 * s - 1, 0));
    EXPECT_TRUE(frames.is_due(1001 * s, 0));
}

// 800 bytes: a frame after each 100, and more than 600 stay, with which the next two have room.
TEST(KeyFrames, BySizeLeaveRoomUntilTheNext) {
    key_frames frames({.time_ns = 0, .bytes = 800}, 0);
    EXPECT_FALSE(frames.is_due(1000 * s, 99));
    EXPECT_TRUE(frames.is_due(0, 100));
    std::uint64_t begin = 0;
    for (std::uint64_t at = 100; at <= 10'000; at += 110) {
        frames.add(0, at, at + 10);  // the frame itself takes 10
        EXPECT_FALSE(frames.is_due(0, at + 109));
        if (const std::uint64_t now = frames.begin(0, at + 10); now != 0) {
            EXPECT_GT(now, begin);
            begin = now;
        }
        EXPECT_LE(at + 10 - begin, 600U + 110);
        EXPECT_TRUE(at <= 700 || at + 10 - begin > 600U);
    }
}

TEST(KeyFrames, BySizeStayIfTheLatestIsTooLarge) {
    key_frames frames({.time_ns = 0, .bytes = 800}, 0);
    frames.add(0, 100, 110);
    frames.add(0, 5000, 9000);
    EXPECT_EQ(frames.begin(0, 9000), 5000U);
    EXPECT_EQ(frames.begin(0, 9100), 0U);
}

// A round that brings more than all that is to be kept, and then the frame: nothing is behind that one yet.
TEST(KeyFrames, BySizeKeepABurstUntilEnoughFollowsIt) {
    key_frames frames({.time_ns = 0, .bytes = 800}, 0);
    frames.add(0, 100, 110);
    frames.add(0, 5110, 5120);
    EXPECT_EQ(frames.begin(0, 5120), 100U);
    for (std::uint64_t at = 5220; at <= 5600; at += 110) {
        frames.add(0, at, at + 10);
        EXPECT_EQ(frames.begin(0, at + 10), 0U) << at;
    }
    EXPECT_EQ(frames.begin(0, 5710), 0U);
    EXPECT_EQ(frames.begin(0, 5711), 5110U);
}

TEST(KeyFrames, HoldTheStricterLimit) {
    key_frames frames({.time_ns = 80 * s, .bytes = 800}, 0);
    frames.add(10 * s, 100, 110);
    frames.add(20 * s, 200, 210);
    EXPECT_EQ(frames.begin(90 * s, 300), 100U);  // by time
    EXPECT_EQ(frames.begin(91 * s, 850), 200U);  // by size
}

}  // namespace
}  // namespace prof::test::key_frames_test
