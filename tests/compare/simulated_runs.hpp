// SPDX-License-Identifier: Apache-2.0
// Simulated groups of runs: each run has an effect of its own on all of its steps, and each step resembles the one
// before. What gates are measured by, beside the test of benchstat on the same numbers.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <numeric>
#include <random>
#include <utility>
#include <vector>

#include "compare/verdict.hpp"

namespace prof::simulated {

struct program {
    double step_noise = 0.02;  // standard deviation of a step, as a ratio
    double correlation = 0;    // of a step with the one before
    double run_noise = 0;      // standard deviation of a run
    double change = 0;         // of the second group: 0.01 is 1 % more
    std::size_t steps = 100;
};

using steps_of_run = std::vector<double>;
using runs = std::vector<steps_of_run>;

inline runs group(const program& of, std::size_t count, double length, std::mt19937_64& random) {
    std::normal_distribution<double> normal;
    runs out;
    for (std::size_t run = 0; run < count; ++run) {
        const double own = length * std::exp(of.run_noise * normal(random));
        steps_of_run steps;
        double state = normal(random);
        for (std::size_t i = 0; i < of.steps; ++i) {
            steps.push_back(own * (1 + of.step_noise * state));
            state = of.correlation * state + std::sqrt(1 - of.correlation * of.correlation) * normal(random);
        }
        out.push_back(std::move(steps));
    }
    return out;
}

inline std::pair<runs, runs> groups(const program& of, std::size_t count, std::mt19937_64& random) {
    runs base = group(of, count, 1, random);
    return {std::move(base), group(of, count, 1 + of.change, random)};
}

inline std::vector<double> means(const runs& of) {
    std::vector<double> out;
    for (const steps_of_run& steps : of) {
        out.push_back(std::accumulate(steps.begin(), steps.end(), 0.0) / static_cast<double>(steps.size()));
    }
    return out;
}

// The two-sided probability of Mann and Whitney's U, by its normal approximation, on all steps of all runs: what
// benchstat asks.
inline double u_test(const runs& base, const runs& changed) {
    std::vector<std::pair<double, bool>> all;
    for (const steps_of_run& run : base) {
        for (const double step : run) all.emplace_back(step, false);
    }
    const auto n = static_cast<double>(all.size());
    for (const steps_of_run& run : changed) {
        for (const double step : run) all.emplace_back(step, true);
    }
    const double m = static_cast<double>(all.size()) - n;
    std::sort(all.begin(), all.end());
    double ranks = 0;
    for (std::size_t i = 0; i < all.size(); ++i) {
        if (!all[i].second) ranks += static_cast<double>(i + 1);
    }
    const double u = ranks - n * (n + 1) / 2;
    const double z = (std::abs(u - n * m / 2) - 0.5) / std::sqrt(n * m * (n + m + 1) / 12);
    return std::erfc(z / std::sqrt(2.0));
}

inline bool says_better_or_worse(verdict of) { return of == verdict::faster || of == verdict::slower; }

}  // namespace prof::simulated
