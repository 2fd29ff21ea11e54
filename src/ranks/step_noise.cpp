// SPDX-License-Identifier: Apache-2.0
#include "ranks/step_noise.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "ranks/robust.hpp"

namespace prof {
namespace {

constexpr double farthest = 4;           // deviations: what lies farther counts as if it lay there
constexpr double of_middle_mean = 1.1;   // its deviation, in those of a mean: of the middle half of normal values
constexpr std::size_t fewest_steps = 6;  // for a correlation
constexpr std::size_t fewest_ranks = 4;  // of which the spread is known in one step
constexpr double most_correlated = 0.97;

// The standard deviation around 0, of values drawn in to `farthest` robust deviations.
double deviation_around_zero(const std::vector<double>& values) {
    if (values.empty()) return 0;
    std::vector<double> apart;
    apart.reserve(values.size());
    for (const double each : values) apart.push_back(std::abs(each));
    const double robust = 1.4826 * median_of(apart);
    double squares = 0;
    for (const double each : values) {
        const double is = robust > 0 ? std::clamp(each, -farthest * robust, farthest * robust) : each;
        squares += is * is;
    }
    return std::sqrt(squares / static_cast<double>(values.size()));
}

double quantile(const std::vector<double>& sorted, double share) {
    return sorted[static_cast<std::size_t>(share * static_cast<double>(sorted.size() - 1))];
}

}  // namespace

double deviations_for(double tries, double probability) noexcept {
    return std::sqrt(2 * std::log(std::max(tries, 1.0) / probability));
}

double deviations_with(double normal, double freedom) noexcept {
    if (freedom < 1) return INFINITY;
    // Wallace's approximation of Student's t.
    const double by = (freedom - 5.0 / 6) / (freedom - 2.0 / 3 + 0.1 / freedom);
    const double exponent = normal * normal * by * by / freedom;
    return exponent > 700 ? INFINITY : std::sqrt(freedom * std::expm1(exponent));
}

step_noise::step_noise(const std::vector<std::vector<double>>& excess) {
    std::vector<std::vector<double>> series;
    std::vector<double> all, usual;
    for (const std::vector<double>& of : excess) {
        std::vector<double> known;
        for (const double each : of) {
            if (!std::isnan(each)) known.push_back(each);
        }
        if (known.empty()) continue;
        const double middle = median_of(known);
        usual.push_back(middle);
        for (double& each : known) each -= middle;
        all.insert(all.end(), known.begin(), known.end());
        steps_ = std::max(steps_, known.size());
        series.push_back(std::move(known));
    }
    if (series.size() < 2) return;
    const auto steps = static_cast<double>(steps_);
    // What one rank exceeds, another falls short of.
    const double independent = static_cast<double>(series.size()) - 1;
    if (steps_ < 2) {
        if (series.size() < fewest_ranks) return;
        const double middle = median_of(usual);
        for (double& each : usual) each -= middle;
        deviation_ns_ = deviation_around_zero(usual);
        freedom_ = independent;
        tail_scale_ns_ = deviation_ns_;
        return;
    }
    freedom_ = independent * (steps - 1);
    deviation_ns_ = deviation_around_zero(all) * std::sqrt(steps / (steps - 1));
    if (steps_ >= fewest_steps && deviation_ns_ > 0) {
        double products = 0, squares = 0;
        for (std::vector<double>& of : series) {
            for (double& each : of) each = std::clamp(each, -3 * deviation_ns_, 3 * deviation_ns_);
            const double mean = std::accumulate(of.begin(), of.end(), 0.0) / static_cast<double>(of.size());
            for (double& each : of) each -= mean;
            for (std::size_t s = 0; s < of.size(); ++s) {
                squares += of[s] * of[s];
                if (s != 0) products += of[s] * of[s - 1];
            }
        }
        const double found = squares > 0 ? std::clamp(products / squares, -0.5, most_correlated) : 0;
        // A short series hides a part of it (Kendall), and shows it to about the second term.
        const double hidden = (1 + 3 * std::max(found, 0.0)) / steps;
        const double uncertain = std::sqrt(std::max(1 - found * found, 0.05) / (steps * independent));
        const auto longer = [](double correlation) {
            const double is = std::clamp(correlation, 0.0, most_correlated);
            return (1 + is) / (1 - is);
        };
        usual_longer_ = longer(found + hidden);
        longest_ = longer(found + hidden + 2 * uncertain);
    }
    std::sort(all.begin(), all.end());
    tail_begin_ns_ = quantile(all, 0.75);
    tail_scale_ns_ = (quantile(all, 0.875) - tail_begin_ns_) / std::log(2.0);
}

double step_noise::usual_bound_ns(double tries, double probability) const {
    const double deviations = deviations_with(deviations_for(tries, probability), freedom_);
    if (deviation_ns_ == 0) return freedom_ < 1 ? INFINITY : 0;
    return deviations * of_middle_mean * deviation_ns_ * std::sqrt(longest_ / static_cast<double>(steps_));
}

double step_noise::step_bound_ns(double tries, double probability) const {
    const double normal = deviations_for(tries, probability) * deviation_ns_;
    return std::max(normal, tail_begin_ns_ + tail_scale_ns_ * std::log(std::max(tries / 4, 1.0) / probability));
}

double step_noise::repeated_bound_ns(std::size_t times, std::size_t steps, double ranks, double probability) const {
    const auto count = static_cast<double>(steps);
    if (times <= 1) return step_bound_ns(ranks * count, probability);
    const auto k = static_cast<double>(times);
    // So many of independent steps exceed a bound, that one exceeds with probability p, in at most C(steps, k) p^k of
    // all cases. Steps that follow each other are not independent, and count once. The sum of 1 / (k (k - 1)) is 1.
    const double choices = std::lgamma(count + 1) - std::lgamma(k + 1) - std::lgamma(count - k + 1);
    const double log_of_one = (std::log(probability / (ranks * k * (k - 1))) - choices) / k;
    return step_bound_ns(std::exp(-log_of_one), 1);
}

double step_noise::error_ns(double spread_ns) const {
    if (steps_ < 2) return NAN;
    const double of_noise = of_middle_mean * deviation_ns_ * std::sqrt(usual_longer_);
    return deviations_with(confidence_95, static_cast<double>(steps_) - 1) * std::hypot(of_noise, spread_ns) /
           std::sqrt(static_cast<double>(steps_));
}

}  // namespace prof
