// SPDX-License-Identifier: Apache-2.0
// The statistics of comparisons beside values of other programs: SciPy 1.17 (t, Welch's test, permutations,
// false_discovery_control) and arch 8 (length of blocks), and beside values worked by hand.
#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <string>
#include <vector>

#include "compare/block_bootstrap.hpp"
#include "compare/corrections.hpp"
#include "compare/group_test.hpp"
#include "compare/t_distribution.hpp"
#include "compare/verdict.hpp"

namespace prof {
namespace {

const std::vector<double> four = {10.0, 10.2, 9.9, 10.4};
const std::vector<double> five = {10.5, 10.9, 10.3, 10.6, 11.0};

// A generator that other programs can have, too; each value has `memory` of the one before.
std::vector<double> series(std::size_t count, double memory) {
    std::uint64_t state = 12'345;
    double before = 0;
    std::vector<double> out;
    for (std::size_t i = 0; i < count; ++i) {
        state = (state * 1'103'515'245 + 12'345) % 2'147'483'648;
        before = memory * before + static_cast<double>(state) / 2'147'483'648 - 0.5;
        out.push_back(before);
    }
    return out;
}

TEST(StudentT, IsThatOfSciPy) {
    EXPECT_NEAR(student_t_quantile(0.975, 1), 12.706204736174694, 1e-9);
    EXPECT_NEAR(student_t_quantile(0.975, 4.5), 2.6589123472044034, 1e-10);
    EXPECT_NEAR(student_t_quantile(0.95, 8), 1.8595480375308973, 1e-10);
    EXPECT_NEAR(student_t_quantile(0.1, 30), -1.3104150253913955, 1e-10);
    EXPECT_NEAR(student_t_quantile(0.999, 3), 10.214531852407383, 1e-9);
    EXPECT_NEAR(student_t_probability(1.5, 2.3), 0.8717223760535685, 1e-12);
    EXPECT_NEAR(student_t_probability(-2, 5), 0.050969739414929174, 1e-12);
    EXPECT_NEAR(student_t_probability(30, 3), 0.9999593235978642, 1e-12);
    EXPECT_EQ(student_t_probability(0, 7), 0.5);
}

TEST(GroupTest, IsWelchs) {
    const auto found = difference_of(four, five);
    ASSERT_TRUE(found);
    EXPECT_NEAR(found->p_two_sided(), 0.016209091043330327, 1e-10);
    EXPECT_NEAR(found->degrees, 6.999719702706287, 1e-9);
    EXPECT_NEAR(found->at(0.95).low, 0.13306857514770776, 1e-9);
    EXPECT_NEAR(found->at(0.95).high, 0.9369314248522925, 1e-9);
    EXPECT_NEAR(found->p_above(0) + found->p_below(0), 1, 1e-12);
}

TEST(GroupTest, OneRunBesideSeveralTakesTheirSpread) {
    const std::vector<double> one = {11.0};
    const auto found = difference_of(four, one);
    ASSERT_TRUE(found);
    // The spread of the four is 0.2217356; times the root of 1 + 1/4.
    EXPECT_NEAR(found->error, 0.2217356 * std::sqrt(1.25), 1e-6);
    EXPECT_EQ(found->degrees, 3);
    EXPECT_FALSE(difference_of(one, one));
    EXPECT_FALSE(difference_of(std::vector<double>{10, 11}, one)) << "of two values the spread is hardly known";
}

TEST(GroupTest, ValuesWithoutAnySpread) {
    const std::vector<double> ones = {1, 1, 1};
    const std::vector<double> twos = {2, 2, 2};
    EXPECT_EQ(difference_of(ones, ones)->p_two_sided(), 1);
    EXPECT_EQ(difference_of(ones, twos)->p_two_sided(), 0);
}

TEST(GroupTest, PermutationsAreThoseOfSciPy) {
    EXPECT_NEAR(permutation_p(four, five).value(), 0.031746031746031744, 1e-12);
    EXPECT_FALSE(permutation_p(std::vector<double>{1, 2}, std::vector<double>{3, 4}));
    // Of three and three the two most extreme of 20.
    EXPECT_NEAR(permutation_p(std::vector<double>{1, 2, 3}, std::vector<double>{7, 8, 9}).value(), 0.1, 1e-12);
}

// The runs that docs/reference/compare.md has: two groups, 80 % power at 5 %; tables of the t test have the same.
TEST(GroupTest, RunsThatADifferenceNeeds) {
    EXPECT_EQ(runs_for_difference(0.01, 0.01), 17U);   // an effect of 1 standard deviation
    EXPECT_EQ(runs_for_difference(0.005, 0.01), 64U);  // of a half
    EXPECT_FALSE(runs_for_difference(1e-6, 0.01));
    EXPECT_EQ(runs_for_verdict(0, 0.001, 0.01), 2U);
}

TEST(BlockBootstrap, LengthOfBlocksIsAboutThatOfArch) {
    EXPECT_NEAR(block_length(series(400, 0.7)), 16.39, 5);
    EXPECT_NEAR(block_length(series(50, 0.7)), 5.61, 2);
    EXPECT_NEAR(block_length(series(400, 0)), 1.15, 1);
    EXPECT_EQ(block_length(std::vector<double>(100, 3.0)), 1);
}

TEST(BlockBootstrap, AnIntervalIsWiderWhereStepsResembleEachOther) {
    const auto width = [](double memory) {
        std::vector<double> of = series(400, memory);
        for (double& value : of) value = 10 + value * std::sqrt(1 - memory * memory);  // of equal spread
        const interval found = mean_interval(of, 0.95);
        return found.high - found.low;
    };
    // Independent values: 2 · 1.96 · 0.2887 / √400.
    EXPECT_NEAR(width(0), 0.0566, 0.01);
    EXPECT_GT(width(0.7), 1.6 * width(0));
}

TEST(BlockBootstrap, SaysTheSameEachTime) {
    const std::vector<double> of = series(60, 0.5);
    EXPECT_EQ(resampled_means(of, 50, 7), resampled_means(of, 50, 7));
    EXPECT_NE(resampled_means(of, 50, 7), resampled_means(of, 50, 8));
    const std::vector<double> single = {5};
    EXPECT_EQ(mean_interval(single, 0.95).low, 5);
}

TEST(Corrections, AreThoseOfSciPyAndOfHolm) {
    const std::vector<double> given = {0.01, 0.04, 0.03, 0.005, 0.5};
    const std::vector<double> expected = {0.025, 0.05, 0.05, 0.025, 0.5};
    const std::vector<double> found = benjamini_hochberg(given);
    for (std::size_t i = 0; i < given.size(); ++i) EXPECT_NEAR(found[i], expected[i], 1e-12);
    // By hand: 5 · 0.005, 4 · 0.01, 3 · 0.03, then no less than 0.09, then 0.5.
    const std::vector<double> of_holm = {0.04, 0.09, 0.09, 0.025, 0.5};
    const std::vector<double> by_holm = holm(given);
    for (std::size_t i = 0; i < given.size(); ++i) EXPECT_NEAR(by_holm[i], of_holm[i], 1e-12);
    EXPECT_TRUE(holm({}).empty());
}

TEST(Verdict, Words) {
    const std::vector<double> base = {100, 100.1, 99.9, 100};
    const std::vector<double> slower = {103, 103.1, 102.9, 103};
    const std::vector<double> noisy = {95, 106, 99, 103};
    EXPECT_EQ(judge(base, slower, {}).found, verdict::slower);
    EXPECT_NEAR(judge(base, slower, {}).change, 0.03, 1e-4);
    EXPECT_EQ(judge(slower, base, {}).found, verdict::faster);
    EXPECT_EQ(judge(base, base, {}).found, verdict::same);
    EXPECT_EQ(judge(base, slower, {.margin = 0.1}).found, verdict::same);
    const judged_figure open = judge(base, noisy, {});
    EXPECT_EQ(open.found, verdict::inconclusive);
    EXPECT_TRUE(open.more_runs.value_or(0) > 10);
    const judged_figure two = judge(std::vector<double>{100}, std::vector<double>{200}, {});
    EXPECT_EQ(two.found, verdict::inconclusive);
    EXPECT_EQ(two.more_runs, 2U);
}

TEST(Verdict, OfTwoRunsIsAboutTheRuns) {
    std::vector<double> base = series(100, 0.5);
    for (double& step : base) step = 100 + step;
    std::vector<double> longer = base;
    for (double& step : longer) step *= 1.2;
    EXPECT_EQ(judge_pair(base, longer, {}).found, verdict::differ);
    EXPECT_EQ(judge_pair(base, base, {}).found, verdict::do_not_differ);
    EXPECT_EQ(judge_pair(base, std::vector<double>{120, 121}, {}).found, verdict::inconclusive) << "too few steps";
}

}  // namespace
}  // namespace prof
