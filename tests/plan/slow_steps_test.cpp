// SPDX-License-Identifier: Apache-2.0
// Which steps are slow, with lengths worked by hand.
#include "plan/slow_steps.hpp"

#include <gtest/gtest.h>

#include <vector>

namespace prof::test::slow_steps_test {
namespace {

constexpr std::uint64_t ms = 1'000'000;

class clocked {
public:
    explicit clocked(double factor) : steps_(factor) { (void)steps_.begin_step(0, now_); }

    std::optional<std::string> step(std::uint64_t length_ns) {
        now_ += length_ns;
        return steps_.begin_step(++number_, now_);
    }
    // How many of them were slow.
    int all(const std::vector<std::uint64_t>& lengths_ms) {
        int slow = 0;
        for (const std::uint64_t length : lengths_ms) slow += step(length * ms).has_value() ? 1 : 0;
        return slow;
    }
    void pause(std::uint64_t length_ns) {
        steps_.forget_begin();
        now_ += length_ns;
        (void)steps_.begin_step(number_, now_);
    }

    // So many steps that nobody told of.
    void miss(std::uint64_t count, std::uint64_t length_ns) {
        now_ += count * length_ns;
        number_ += count;
    }

private:
    slow_steps steps_;
    std::uint64_t now_ = 5'000 * ms;
    std::uint64_t number_ = 0;
};

TEST(SlowSteps, ExceedAFactorOfTheMedian) {
    clocked steps(3);
    EXPECT_EQ(steps.all({9, 10, 11, 9, 10, 11, 9, 10, 11, 9, 10, 11, 9, 10, 11, 10}), 0);
    EXPECT_FALSE(steps.step(30 * ms));
    EXPECT_EQ(steps.step(30 * ms + 1), "step 18 took 30.000 ms, 3.0 times the median of the 17 steps before it");
    EXPECT_EQ(steps.step(252 * ms), "step 19 took 252.000 ms, 25.2 times the median of the 18 steps before it");
}

TEST(SlowSteps, NeedEnoughEarlierSteps) {
    clocked steps(2);
    EXPECT_EQ(steps.all({1, 90, 1, 900, 1, 1, 1, 1, 90, 1, 1, 1, 1, 1, 1}), 0);
    EXPECT_FALSE(steps.step(900 * ms));  // the sixteenth: fifteen are too few
    EXPECT_TRUE(steps.step(900 * ms));
}

TEST(SlowSteps, AreComparedWithTheLatestSteps) {
    clocked steps(2);
    EXPECT_EQ(steps.all(std::vector<std::uint64_t>(64, 10)), 0);
    // The program has become slower: the first steps of it are slow, and when half of the latest are as they are, no
    // more.
    EXPECT_EQ(steps.all(std::vector<std::uint64_t>(64, 50)), 32);
    EXPECT_EQ(steps.all(std::vector<std::uint64_t>(64, 50)), 0);
    EXPECT_EQ(steps.step(101 * ms), "step 193 took 101.000 ms, 2.0 times the median of the 64 steps before it");
}

TEST(SlowSteps, LeaveOutStepsWithAPause) {
    clocked steps(2);
    EXPECT_EQ(steps.all(std::vector<std::uint64_t>(20, 10)), 0);
    steps.pause(10'000 * ms);
    EXPECT_FALSE(steps.step(10 * ms));
    EXPECT_TRUE(steps.step(21 * ms));
}

TEST(SlowSteps, LeaveOutStepsAroundMissedOnes) {
    clocked steps(2);
    EXPECT_EQ(steps.all(std::vector<std::uint64_t>(20, 10)), 0);
    steps.miss(9, 10 * ms);
    EXPECT_FALSE(steps.step(10 * ms));  // a hundred since the latest that was told
    EXPECT_FALSE(steps.step(10 * ms));
    EXPECT_EQ(steps.step(30 * ms), "step 32 took 30.000 ms, 3.0 times the median of the 21 steps before it");
}

TEST(SlowSteps, RefuseFactorsOutOfBounds) {
    double factor = 0;
    for (const char* good : {"1.1", "2", "2.5", "1000"}) EXPECT_TRUE(parse_slow_factor(good, factor)) << good;
    EXPECT_EQ(factor, 1000);
    for (const char* bad : {"", "1", "1.09", "1001", "nan", "inf", "-2", "2x", " 2", "2 "}) {
        EXPECT_FALSE(parse_slow_factor(bad, factor)) << bad;
    }
}

}  // namespace
}  // namespace prof::test::slow_steps_test
