// SPDX-License-Identifier: Apache-2.0
#include "analysis/steps/estimate.hpp"

#include <algorithm>
#include <cmath>
#include <numbers>
#include <vector>

namespace prof {
namespace {

double share_not_captured(const window_sample& window) {
    return std::max(1 - window.steps / std::max(window.stands_for, window.steps), 0.0);
}

// The regularized incomplete beta function I_x(a, 1/2), by its continued fraction (Abramowitz and Stegun 26.5.8,
// evaluated with Lentz's method). REQUIRES: x ≤ (a + 1) / (a + 2.5), where it converges fast.
double incomplete_beta(double a, double x) {
    constexpr double b = 0.5;
    constexpr int most_terms = 500;
    const double beta = std::tgamma(a) * std::sqrt(std::numbers::pi) / std::tgamma(a + b);
    double c = 1;
    double d = 1 / (1 - (a + b) * x / (a + 1));
    double fraction = d;
    for (int m = 1; m < most_terms; ++m) {
        const double even = m * (b - m) * x / ((a + 2 * m - 1) * (a + 2 * m));
        const double odd = -(a + m) * (a + b + m) * x / ((a + 2 * m) * (a + 2 * m + 1));
        const double before = fraction;
        for (const double term : {even, odd}) {
            d = 1 / (1 + term * d);
            c = 1 + term / c;
            fraction *= c * d;
        }
        if (std::abs(fraction - before) <= 1e-15 * fraction) break;
    }
    return std::pow(x, a) * std::sqrt(1 - x) / (a * beta) * fraction;
}

// Fisher's expansion around the normal distribution (Abramowitz and Stegun 26.7.5); for 100 degrees exact to 2e-9.
double student_t95_of_many(double degrees) {
    constexpr double z = 1.959963984540054;
    constexpr double z3 = z * z * z;
    constexpr double z5 = z3 * z * z;
    constexpr double z7 = z5 * z * z;
    constexpr double z9 = z7 * z * z;
    const double by = 1 / degrees;
    return z + by * ((z3 + z) / 4 + by * ((5 * z5 + 16 * z3 + 3 * z) / 96 +
                                          by * ((3 * z7 + 19 * z5 + 17 * z3 - 15 * z) / 384 +
                                                by * (79 * z9 + 776 * z7 + 1482 * z5 - 1920 * z3 - 945 * z) / 92160)));
}

}  // namespace

double student_t95(double degrees) {
    constexpr double many = 100;
    if (degrees >= many) return student_t95_of_many(degrees);
    // |t| exceeds T with probability I_x(degrees / 2, 1 / 2), where x = degrees / (degrees + T^2).
    const double a = std::max(degrees, 1.0) / 2;
    double below = 0;
    double above = (a + 1) / (a + 2.5);  // here the probability is far above 0.05
    for (int i = 0; i < 60; ++i) {
        const double x = (below + above) / 2;
        double& bound = incomplete_beta(a, x) < 0.05 ? below : above;
        bound = x;
    }
    return std::sqrt(2 * a * (1 - below) / below);
}

mean_estimator::mean_estimator(std::span<const window_sample> windows) : windows_(windows) {
    for (const window_sample& window : windows) {
        all_steps_ += window.stands_for;
        all_captured_ = all_captured_ && share_not_captured(window) == 0;
    }
    if (all_captured_ || windows.size() < 2) return;
    const auto differences = static_cast<double>(windows.size() - 1);
    t95_ = student_t95(2 * differences * differences / (3 * differences - 1));
}

estimate mean_estimator::operator()(std::span<const window_total> totals) const {
    estimate out;
    if (all_steps_ <= 0) return out;
    const auto mean_of = [&](const window_total& of) { return of.total / windows_[of.window].steps; };
    for (const window_total& of : totals) out.mean += windows_[of.window].stands_for / all_steps_ * mean_of(of);
    if (all_captured_) out.half_width = 0;
    if (all_captured_ || windows_.size() < 2) return out;

    // If neither a window nor a neighbour has any of the quantity, their difference is 0.
    double variance = 0;
    std::size_t next = 0;  // the first element of `totals` that is not before the window
    const auto mean_at = [&](std::size_t window) {
        for (std::size_t i = next == 0 ? 0 : next - 1; i < totals.size() && totals[i].window <= window; ++i) {
            if (totals[i].window == window) return mean_of(totals[i]);
        }
        return 0.0;
    };
    const auto add_window = [&](std::size_t i) {
        while (next < totals.size() && totals[next].window < i) ++next;
        // Half the squared difference to a neighbour has the variance of the windows' means as its expectation.
        double squares = 0;
        double neighbours = 0;
        for (const std::size_t other : {i - 1, i + 1}) {
            if (other >= windows_.size()) continue;  // i - 1 wraps for the first window
            const double difference = mean_at(i) - mean_at(other);
            squares += difference * difference / 2;
            neighbours += 1;
        }
        const double weight = windows_[i].stands_for / all_steps_;
        variance += weight * weight * share_not_captured(windows_[i]) * squares / neighbours;
    };
    std::size_t done = 0;  // number of windows handled
    for (const window_total& of : totals) {
        const std::size_t first = std::max(done, of.window == 0 ? 0 : of.window - 1);
        const std::size_t last = std::min(of.window + 1, windows_.size() - 1);
        for (std::size_t i = first; i <= last; ++i) add_window(i);
        done = std::max(done, last + 1);
    }
    out.half_width = t95_ * std::sqrt(variance);
    return out;
}

estimate estimate_mean(std::span<const window_sample> windows) {
    std::vector<window_total> totals;
    for (std::size_t i = 0; i < windows.size(); ++i) totals.push_back({i, windows[i].total});
    return mean_estimator(windows)(totals);
}

}  // namespace prof
