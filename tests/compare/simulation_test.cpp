// SPDX-License-Identifier: Apache-2.0
// The honesty of verdicts on simulated runs; tests/lab/compare_simulation.cpp has more of them, and
// docs/lab/compare.md what they came to.
#include <gtest/gtest.h>

#include "compare/block_bootstrap.hpp"
#include "compare/verdict.hpp"
#include "simulated_runs.hpp"

namespace prof::simulated {
namespace {

// Of 2,000 pairs of equal programs, 1 in 20 is 100; 130 is 3 standard deviations more.
TEST(Simulation, EqualProgramsAreSeldomCalledBetterOrWorse) {
    std::mt19937_64 random(1);
    std::size_t claims = 0;
    std::size_t pairs = 0;
    for (const double run_noise : {0.0, 0.003, 0.01, 0.02}) {
        for (const double correlation : {0.0, 0.8}) {
            for (std::size_t i = 0; i < 250; ++i, ++pairs) {
                const auto [base, changed] =
                    groups({.correlation = correlation, .run_noise = run_noise, .steps = 30}, 2 + i % 5, random);
                if (says_better_or_worse(judge(means(base), means(changed), {}).found)) ++claims;
            }
        }
    }
    EXPECT_EQ(pairs, 2'000U);
    EXPECT_LE(claims, 100U);
}

TEST(Simulation, AnotherTestOnTheStepsWouldSeeChangesThatAreNone) {
    std::mt19937_64 random(2);
    std::size_t claims = 0;
    for (std::size_t i = 0; i < 200; ++i) {
        const auto [base, changed] = groups({.correlation = 0.8, .run_noise = 0.01}, 1, random);
        if (u_test(base, changed) < 0.05) ++claims;
    }
    EXPECT_GT(claims, 100U);
}

TEST(Simulation, LargeChangesAreSeen) {
    std::mt19937_64 random(3);
    std::size_t seen = 0;
    for (std::size_t i = 0; i < 100; ++i) {
        const auto [base, changed] = groups({.run_noise = 0.005, .change = 0.05}, 5, random);
        if (judge(means(base), means(changed), {}).found == verdict::slower) ++seen;
    }
    EXPECT_GE(seen, 99U);
}

// The interval of one run's mean has the mean of a longer run as often as it says, whatever the correlation.
TEST(Simulation, IntervalsOfARunHoldAlthoughStepsResembleEachOther) {
    std::mt19937_64 random(4);
    for (const double correlation : {0.0, 0.5, 0.8}) {
        std::size_t held = 0;
        constexpr std::size_t count = 300;
        for (std::size_t i = 0; i < count; ++i) {
            const runs made = group({.correlation = correlation, .steps = 400}, 1, 1, random);
            const interval found = mean_interval(made.front(), 0.95);
            if (found.low <= 1 && found.high >= 1) ++held;
        }
        EXPECT_GE(held, count * 85 / 100) << correlation;
        EXPECT_LE(held, count * 99 / 100) << correlation;
    }
}

// Two runs of equal programs may differ, and then are said to; that is nothing about the programs.
TEST(Simulation, OneRunOnEachSideSaysNothingOfTheCode) {
    std::mt19937_64 random(5);
    for (std::size_t i = 0; i < 50; ++i) {
        const auto [base, changed] = groups({.run_noise = 0.02, .change = 0.3}, 1, random);
        const judged_figure found = judge_pair(base.front(), changed.front(), {});
        EXPECT_EQ(found.found, verdict::differ);
        EXPECT_FALSE(found.p);
    }
}

}  // namespace
}  // namespace prof::simulated
