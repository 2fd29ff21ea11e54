// SPDX-License-Identifier: Apache-2.0
#include "compare/block_bootstrap.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "compare/mean.hpp"
#include "compare/random_numbers.hpp"
#include "compare/t_distribution.hpp"

namespace prof {
namespace {

constexpr std::size_t resamples = 2'000;
constexpr std::uint64_t seed_of_first = 1;
constexpr std::uint64_t seed_of_second = 2;

// The value below which `share` of them lie, between two of them in proportion. REQUIRES: sorted, not empty.
double quantile_of(const std::vector<double>& sorted, double share) {
    const double place = share * static_cast<double>(sorted.size() - 1);
    const auto below = static_cast<std::size_t>(place);
    const std::size_t above = std::min(below + 1, sorted.size() - 1);
    return sorted[below] + (place - static_cast<double>(below)) * (sorted[above] - sorted[below]);
}

interval percentiles(std::vector<double> of, double level) {
    std::sort(of.begin(), of.end());
    return {quantile_of(of, (1 - level) / 2), quantile_of(of, (1 + level) / 2)};
}

// Percentiles of few blocks are too near to each other: their deviation is too small, and not known well, as that of
// few values, which Student's t takes into account.
interval widened(const interval& of, double around, double blocks, double level) {
    constexpr double fewest_blocks = 2;
    constexpr double many_degrees = 1e6;  // as good as the normal distribution
    const double count = std::max(blocks, fewest_blocks);
    const double factor = std::sqrt(count / (count - 1)) * student_t_quantile((1 + level) / 2, count - 1) /
                          student_t_quantile((1 + level) / 2, many_degrees);
    return {around + factor * (of.low - around), around + factor * (of.high - around)};
}

double blocks_of(std::span<const double> series) { return static_cast<double>(series.size()) / block_length(series); }

}  // namespace

double block_length(std::span<const double> series) {
    const auto n = static_cast<double>(series.size());
    if (series.size() < 8) return 1;
    const double mean = mean_of(series);
    const auto quiet_lags = static_cast<std::size_t>(std::max(5.0, std::log10(n)));
    const auto most_lags = std::min(static_cast<std::size_t>(std::ceil(std::sqrt(n))) + quiet_lags, series.size() - 1);
    std::vector<double> covariance(most_lags + 1);
    for (std::size_t lag = 0; lag <= most_lags; ++lag) {
        double sum = 0;
        for (std::size_t i = lag; i < series.size(); ++i) sum += (series[i] - mean) * (series[i - lag] - mean);
        covariance[lag] = sum / n;
    }
    if (!(covariance[0] > 0)) return 1;
    // The first lag after which so many are indistinguishable from 0.
    const double limit = 2 * std::sqrt(std::log10(n) / n) * covariance[0];
    std::size_t last = most_lags;
    for (std::size_t lag = 0, quiet = 0; lag < most_lags; ++lag) {
        quiet = std::abs(covariance[lag + 1]) < limit ? quiet + 1 : 0;
        if (quiet == quiet_lags) {
            last = lag + 1 - quiet_lags;
            break;
        }
    }
    const std::size_t window = std::min(2 * std::max<std::size_t>(last, 1), most_lags);
    double long_run_variance = covariance[0];
    double g = 0;
    for (std::size_t lag = 1; lag <= window; ++lag) {
        const double at = static_cast<double>(lag) / static_cast<double>(window);
        const double weight = at <= 0.5 ? 1 : 2 * (1 - at);  // the flat-top kernel
        long_run_variance += 2 * weight * covariance[lag];
        g += 2 * weight * static_cast<double>(lag) * covariance[lag];
    }
    const double d = 4.0 / 3 * long_run_variance * long_run_variance;  // of circular blocks
    const double longest = std::ceil(std::min(3 * std::sqrt(n), n / 3));
    if (!(d > 0)) return longest;
    return std::clamp(std::cbrt(2 * g * g / d * n), 1.0, longest);
}

std::vector<double> resampled_means(std::span<const double> series, std::size_t count, std::uint64_t seed) {
    const std::size_t n = series.size();
    const auto length = static_cast<std::size_t>(std::llround(block_length(series)));
    // Twice around, so that the sum of any block is one difference.
    std::vector<double> until(2 * n + 1);
    const double mean = mean_of(series);  // sums of small numbers lose less
    for (std::size_t i = 0; i < 2 * n; ++i) until[i + 1] = until[i] + (series[i % n] - mean);
    random_numbers random(seed);
    std::vector<double> out;
    out.reserve(count);
    for (std::size_t i = 0; i < count; ++i) {
        double sum = 0;
        for (std::size_t left = n; left != 0;) {
            const std::size_t taken = std::min(left, length);
            const auto from = static_cast<std::size_t>(random.below(n));
            sum += until[from + taken] - until[from];
            left -= taken;
        }
        out.push_back(mean + sum / static_cast<double>(n));
    }
    return out;
}

interval mean_interval(std::span<const double> series, double level) {
    const double mean = mean_of(series);
    if (series.size() < 2) return {mean, mean};
    return widened(percentiles(resampled_means(series, resamples, seed_of_first), level), mean, blocks_of(series),
                   level);
}

interval log_ratio_interval(std::span<const double> from, std::span<const double> to, double level) {
    std::vector<double> ratios = resampled_means(to, resamples, seed_of_second);
    const std::vector<double> base = resampled_means(from, resamples, seed_of_first);
    for (std::size_t i = 0; i < resamples; ++i) ratios[i] = std::log(ratios[i] / base[i]);
    return widened(percentiles(std::move(ratios), level), std::log(mean_of(to) / mean_of(from)),
                   std::min(blocks_of(from), blocks_of(to)), level);
}

}  // namespace prof
