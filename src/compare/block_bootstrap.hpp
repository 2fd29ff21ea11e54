// SPDX-License-Identifier: Apache-2.0
// How sure the mean of a run's steps is, although each step resembles the one before: circular block bootstrap with
// automatic length of the blocks. Pure functions; docs/reference/compare.md has the formulas and sources.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace prof {

// Lower and upper end.
struct interval {
    double low = 0;
    double high = 0;
};

// The best length of blocks for the mean of this series (Politis and White 2004, corrected by Patton, Politis and White
// 2009), at least 1. Cost: the square root of its length times its length.
double block_length(std::span<const double> series);

// Means of the series resampled in blocks. The same seed gives the same means. REQUIRES: the series is not empty.
std::vector<double> resampled_means(std::span<const double> series, std::size_t count, std::uint64_t seed);

// The interval in which the mean of such a series lies in `level` of all cases. Nothing is known of fewer than 2
// values: then it is the value itself.
interval mean_interval(std::span<const double> series, double level);

// That of ln(mean of `to` / mean of `from`). REQUIRES: neither is empty, and all values are above 0.
interval log_ratio_interval(std::span<const double> from, std::span<const double> to, double level);

}  // namespace prof
