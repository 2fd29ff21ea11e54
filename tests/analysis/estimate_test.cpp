// SPDX-License-Identifier: Apache-2.0
#include "analysis/steps/estimate.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <numbers>
#include <numeric>
#include <random>
#include <vector>

namespace prof::estimate_test {
namespace {

TEST(StudentT, AgreesWithPrintedTables) {
    const std::vector<std::pair<double, double>> printed = {{1, 12.706},  {2, 4.303},  {5, 2.571},  {9, 2.262},
                                                            {10, 2.228},  {12, 2.179}, {20, 2.086}, {30, 2.042},
                                                            {120, 1.980}, {1e9, 1.960}};
    for (const auto& [degrees, value] : printed) EXPECT_NEAR(student_t95(degrees), value, 6e-4) << degrees;
    for (double degrees = 1; degrees < 40; degrees += 0.1) {
        EXPECT_GT(student_t95(degrees), student_t95(degrees + 0.1)) << degrees;
    }
}

// Of one and two degrees there are closed forms: tan(0.475 pi), and 0.95 sqrt(2 / (1 - 0.95^2)). The others come from
// integrating the density numerically with 30 digits (mpmath), and agree with mpmath's incomplete beta function.
TEST(StudentT, IsExactForFractionalDegrees) {
    const std::vector<std::pair<double, double>> known = {
        {1, std::tan(0.475 * std::numbers::pi)},
        {1.01, 12.4127384991},
        {1.2, 8.648826510749},
        {1.6, 5.517245438759},
        {2, 0.95 * std::sqrt(2 / (1 - 0.95 * 0.95))},
        {2.25, 3.875480223221},
        {2.5, 3.574654842004},
        {3, 3.182446305284},
        {3.6, 2.90244523572},
        {4, 2.776445105198},
        {4.5, 2.658912347204},
        {7.3, 2.345066736548},
        {10, 2.228138851986},
        {29.5, 2.043724966772},
        {99.5, 1.984093610991},
        {100, 1.983971518524},
        {1000, 1.962339080826},
    };
    for (const auto& [degrees, value] : known) EXPECT_NEAR(student_t95(degrees), value, 5e-9) << degrees;
    EXPECT_DOUBLE_EQ(student_t95(0.5), student_t95(1)) << "there are no fewer";
}

TEST(Estimate, MatchesThreeWindowsWorkedByHand) {
    // Means 6, 10 and 8, one step of ten each. Halves of the squared differences: 8 and 2, so the windows vary by 8, 5
    // and 2. Variance 0.9 (8 + 5 + 2) / 9 = 1.5 with 2 * 2 * 2 / (3 * 2 - 1) = 1.6 degrees of freedom.
    const std::vector<window_sample> windows = {{10, 1, 6}, {10, 1, 10}, {10, 1, 8}};
    const estimate found = estimate_mean(windows);
    EXPECT_DOUBLE_EQ(found.mean, 8);
    ASSERT_TRUE(found.half_width);
    EXPECT_NEAR(*found.half_width, 5.517245438759 * std::sqrt(1.5), 1e-8);
}

TEST(Estimate, WeighsAWindowByTheStepsItStandsFor) {
    // Means 2 and 6 for 10 and 30 steps: (2 * 10 + 6 * 30) / 40. They differ by 4, so each varies by 8; variance
    // 8 (0.25^2 * 8/10 + 0.75^2 * 28/30) = 4.6 with one degree of freedom.
    const std::vector<window_sample> windows = {{10, 2, 4}, {30, 2, 12}};
    const estimate found = estimate_mean(windows);
    EXPECT_DOUBLE_EQ(found.mean, 5);
    ASSERT_TRUE(found.half_width);
    EXPECT_NEAR(*found.half_width, 12.70620473617 * std::sqrt(4.6), 1e-9);
}

TEST(Estimate, IsExactWhenAllStepsWereCaptured) {
    const std::vector<window_sample> windows = {{2, 2, 4}, {3, 3, 30}};
    const estimate found = estimate_mean(windows);
    EXPECT_DOUBLE_EQ(found.mean, 34.0 / 5);
    EXPECT_EQ(found.half_width, 0);
}

// Windows without a total for a row need not be visited for it.
TEST(Estimate, NeedsOnlyWindowsWithATotal) {
    std::mt19937 random{7};
    for (int round = 0; round < 300; ++round) {
        std::vector<window_sample> windows(1 + random() % 12);
        std::vector<window_total> totals;
        for (std::size_t i = 0; i < windows.size(); ++i) {
            const double steps = 1 + static_cast<double>(random() % 3);
            windows[i] = {.stands_for = steps + static_cast<double>(random() % 5), .steps = steps, .total = 0};
            if (random() % 3 != 0) continue;
            windows[i].total = 1.0 * static_cast<double>(random() % 1000);
            totals.push_back({i, windows[i].total});
        }
        // By the formulae of docs/guide/budget.md, window by window.
        double all = 0;
        double mean = 0;
        double variance = 0;
        for (const window_sample& w : windows) all += w.stands_for;
        for (std::size_t i = 0; i < windows.size(); ++i) {
            const auto mean_of = [&](std::size_t w) { return windows[w].total / windows[w].steps; };
            const double weight = windows[i].stands_for / all;
            mean += weight * mean_of(i);
            double squares = 0;
            double neighbours = 0;
            if (i > 0) squares += std::pow(mean_of(i) - mean_of(i - 1), 2) / 2, ++neighbours;
            if (i + 1 < windows.size()) squares += std::pow(mean_of(i) - mean_of(i + 1), 2) / 2, ++neighbours;
            if (neighbours == 0) continue;
            variance += weight * weight * (1 - windows[i].steps / windows[i].stands_for) * squares / neighbours;
        }
        const estimate found = mean_estimator(windows)(totals);
        EXPECT_NEAR(found.mean, mean, 1e-9);
        const bool all_captured =
            std::all_of(windows.begin(), windows.end(), [](const window_sample& w) { return w.steps == w.stands_for; });
        ASSERT_EQ(found.half_width.has_value(), all_captured || windows.size() > 1);
        if (all_captured || windows.size() < 2) continue;
        const auto differences = static_cast<double>(windows.size() - 1);
        const double degrees = 2 * differences * differences / (3 * differences - 1);
        EXPECT_NEAR(*found.half_width, student_t95(degrees) * std::sqrt(variance), 1e-9);
    }
}

TEST(Estimate, HasNoIntervalForOneWindow) {
    EXPECT_FALSE(estimate_mean(std::vector<window_sample>{{10, 2, 4}}).half_width);
    EXPECT_DOUBLE_EQ(estimate_mean(std::vector<window_sample>{{10, 2, 4}}).mean, 2);
    EXPECT_DOUBLE_EQ(estimate_mean({}).mean, 0);
}

// A run whose steps' costs are known, sampled over and over as the plan samples it: one window, at a random place, in
// each stratum of steps.
struct sampled_run {
    std::vector<double> costs;
    std::vector<std::size_t> strata;  // their lengths in windows
    std::size_t window = 1;           // steps

    std::vector<window_sample> draw(std::mt19937_64& random) const {
        std::vector<window_sample> out;
        std::size_t first = 0;
        for (const std::size_t stratum : strata) {
            const std::size_t at = first + window * std::uniform_int_distribution<std::size_t>(0, stratum - 1)(random);
            const auto begin = costs.begin() + static_cast<std::ptrdiff_t>(at);
            out.push_back({.stands_for = static_cast<double>(stratum * window),
                           .steps = static_cast<double>(window),
                           .total = std::accumulate(begin, begin + static_cast<std::ptrdiff_t>(window), 0.0)});
            first += stratum * window;
        }
        return out;
    }
};

struct outcome {
    double coverage = 0;
    double bias_in_errors = 0;  // mean error by its own standard error
};

template <typename TMakeRun>
outcome sample(const TMakeRun& make_run) {
    constexpr int runs = 50;
    constexpr int draws = 40;
    std::mt19937_64 random(20261121);
    int covered = 0;
    double sum = 0;
    double squares = 0;
    for (int i = 0; i < runs; ++i) {
        const sampled_run run = make_run(random);
        const double truth =
            std::accumulate(run.costs.begin(), run.costs.end(), 0.0) / static_cast<double>(run.costs.size());
        for (int draw = 0; draw < draws; ++draw) {
            const estimate found = estimate_mean(run.draw(random));
            const double error = found.mean - truth;
            covered += std::abs(error) <= found.half_width.value_or(-1) ? 1 : 0;
            sum += error;
            squares += error * error;
        }
    }
    constexpr double count = runs * draws;
    return {covered / count, sum / std::sqrt(squares)};
}

void expect_good(const outcome& found) {
    EXPECT_GE(found.coverage, 0.92);
    EXPECT_LE(found.coverage, 0.98);
    EXPECT_LT(std::abs(found.bias_in_errors), 3);
}

// Normal noise, and what else `shape` says by the step.
template <typename TShape>
sampled_run make_run(std::mt19937_64& random, std::vector<std::size_t> strata, std::size_t window, TShape&& shape) {
    sampled_run run{.costs = {}, .strata = std::move(strata), .window = window};
    const std::size_t steps = window * std::accumulate(run.strata.begin(), run.strata.end(), std::size_t{0});
    std::normal_distribution<double> normal;
    for (std::size_t i = 0; i < steps; ++i) run.costs.push_back(20 + normal(random) + shape(i));
    return run;
}

TEST(EstimateCoverage, HoldsForStepsThatVaryByChance) {
    expect_good(sample([](auto& random) {
        return make_run(random, std::vector<std::size_t>(40, 20), 1, [](std::size_t) { return 0.0; });
    }));
}

TEST(EstimateCoverage, HoldsForFewWindows) {
    expect_good(sample([](auto& random) {
        return make_run(random, std::vector<std::size_t>(8, 50), 1, [](std::size_t) { return 0.0; });
    }));
}

TEST(EstimateCoverage, HoldsForASlowlyChangingRunUnderUnequalStrata) {
    expect_good(sample([](auto& random) {
        std::vector<std::size_t> strata(30, 10);
        for (std::size_t i = 0; i < strata.size(); ++i) strata[i] += i;
        return make_run(random, strata, 1, [](std::size_t i) { return 0.02 * static_cast<double>(i); });
    }));
}

TEST(EstimateCoverage, HoldsForAPeriodicLongStepInStepWithTheStrata) {
    expect_good(sample([](auto& random) {
        return make_run(random, std::vector<std::size_t>(60, 20), 1,
                        [](std::size_t i) { return i % 10 == 9 ? 15.0 : 0.0; });
    }));
}

// Of every two steps one was captured: without the correction for that the interval would cover 99.5 %.
TEST(EstimateCoverage, HoldsWhenHalfOfAllStepsAreCaptured) {
    expect_good(sample([](auto& random) {
        return make_run(random, std::vector<std::size_t>(50, 2), 1, [](std::size_t) { return 0.0; });
    }));
}

TEST(EstimateCoverage, HoldsForWindowsOfSimilarSteps) {
    expect_good(sample([](auto& random) {
        std::vector<double> level(40 * 10);
        for (double& value : level) value = 2 * std::normal_distribution<double>()(random);
        return make_run(random, std::vector<std::size_t>(40, 10), 4, [&](std::size_t i) { return level[i / 4]; });
    }));
}

}  // namespace
}  // namespace prof::estimate_test
