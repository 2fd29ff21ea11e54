// SPDX-License-Identifier: Apache-2.0
// Whether two groups of runs differ, with the run as the unit: a figure of each run is one value. Pure functions;
// docs/reference/compare.md has the formulas and sources.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

#include "compare/block_bootstrap.hpp"

namespace prof {

// The difference of the means of two groups of values, and how sure it is.
struct group_difference {
    double difference = 0;  // of the second from the first
    double error = 0;       // its standard error; 0 where all values of both groups are equal
    double degrees = 0;     // of freedom of Student's t
    double spread = 0;      // of one run: the standard deviation of both groups together

    // The two-sided probability of such a difference, or a larger one, between equal groups.
    double p_two_sided() const;
    // The probability of such a difference, or a larger one, if the true one were `limit`; and of a smaller one.
    double p_above(double limit) const;
    double p_below(double limit) const;
    interval at(double level) const;
};

// Welch's t, which does not take the groups for equally noisy; with one value on a side Student's, with the spread of
// the other side for both. Nothing where that is not known either: one value on each side, or one beside two.
std::optional<group_difference> difference_of(std::span<const double> from, std::span<const double> to);

// The two-sided probability of such a difference of means among all ways to divide the values into two groups of these
// sizes: exact whatever their distribution. Nothing where there are fewer than 20 ways, so that none could be below
// 0.05, or more than 200,000.
std::optional<double> permutation_p(std::span<const double> from, std::span<const double> to);

// How many runs a side have, in 4 of 5 cases, an interval of 95 % that lies beside 0, if the true difference is
// `difference`; or two one-sided tests at 5 % that put it within `margin`, whichever needs fewer. Nothing if it would
// take more than 1,000. REQUIRES: spread >= 0, margin > 0.
std::optional<std::size_t> runs_for_verdict(double difference, double spread, double margin);
// The same for a difference alone.
std::optional<std::size_t> runs_for_difference(double difference, double spread);

// The standard deviation of a group: 0 of fewer than two values.
double spread_of_group(std::span<const double> values);
// The least difference that so many runs a side see in 4 of 5 cases, if runs have this spread; nothing of fewer than 2.
std::optional<double> least_visible_difference(double spread, std::size_t runs);

}  // namespace prof
