#include "analysis/estimate.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <vector>

namespace prof {
namespace {

double share_not_captured(const window_sample& window) {
    return std::max(1 - window.steps / std::max(window.stands_for, window.steps), 0.0);
}

}  // namespace

double student_t95(double degrees) {
    // Of 1 to 10 degrees; beyond, Fisher's expansion about the normal distribution (Abramowitz and Stegun 26.7.5).
    constexpr std::array table = {12.7062, 4.3027, 3.1824, 2.7764, 2.5706, 2.4469, 2.3646, 2.3060, 2.2622, 2.2281};
    if (degrees < table.size()) {
        const double from = std::max(std::floor(degrees), 1.0);
        const auto at = static_cast<std::size_t>(from) - 1;
        // Between two of them in line with 1 / degrees.
        const double part = degrees <= from ? 0 : (1 / from - 1 / degrees) / (1 / from - 1 / (from + 1));
        return table[at] + part * (table[at + 1] - table[at]);
    }
    constexpr double z = 1.959963984540054;
    constexpr double z3 = z * z * z;
    constexpr double z5 = z3 * z * z;
    constexpr double z7 = z5 * z * z;
    return z + (z3 + z) / (4 * degrees) + (5 * z5 + 16 * z3 + 3 * z) / (96 * degrees * degrees) +
           (3 * z7 + 19 * z5 + 17 * z3 - 15 * z) / (384 * degrees * degrees * degrees);
}

mean_estimator::mean_estimator(std::span<const window_sample> windows) : windows_(windows) {
    for (const window_sample& window : windows) {
        all_steps_ += window.stands_for;
        all_captured_ = all_captured_ && share_not_captured(window) == 0;
    }
}

estimate mean_estimator::operator()(std::span<const window_total> totals) const {
    estimate out;
    if (all_steps_ <= 0) return out;
    const auto mean_of = [&](const window_total& of) { return of.total / windows_[of.window].steps; };
    for (const window_total& of : totals) out.mean += windows_[of.window].stands_for / all_steps_ * mean_of(of);
    if (all_captured_) out.half_width = 0;
    if (all_captured_ || windows_.size() < 2) return out;

    // Where neither a window nor one beside it has anything there is no difference.
    double variance = 0;
    std::size_t next = 0;  // the first in `totals` that is not before the window
    const auto mean_at = [&](std::size_t window) {
        for (std::size_t i = next == 0 ? 0 : next - 1; i < totals.size() && totals[i].window <= window; ++i) {
            if (totals[i].window == window) return mean_of(totals[i]);
        }
        return 0.0;
    };
    const auto add_window = [&](std::size_t i) {
        while (next < totals.size() && totals[next].window < i) ++next;
        // Half the square of the difference to a neighbour is what the windows' means vary by on average.
        double squares = 0;
        double neighbours = 0;
        for (const std::size_t other : {i - 1, i + 1}) {
            if (other >= windows_.size()) continue;  // i - 1 of the first wraps
            const double difference = mean_at(i) - mean_at(other);
            squares += difference * difference / 2;
            neighbours += 1;
        }
        const double weight = windows_[i].stands_for / all_steps_;
        variance += weight * weight * share_not_captured(windows_[i]) * squares / neighbours;
    };
    std::size_t done = 0;  // the windows before it
    for (const window_total& of : totals) {
        const std::size_t first = std::max(done, of.window == 0 ? 0 : of.window - 1);
        const std::size_t last = std::min(of.window + 1, windows_.size() - 1);
        for (std::size_t i = first; i <= last; ++i) add_window(i);
        done = std::max(done, last + 1);
    }
    const auto differences = static_cast<double>(windows_.size() - 1);
    const double degrees = 2 * differences * differences / (3 * differences - 1);
    out.half_width = student_t95(degrees) * std::sqrt(variance);
    return out;
}

estimate estimate_mean(std::span<const window_sample> windows) {
    std::vector<window_total> totals;
    for (std::size_t i = 0; i < windows.size(); ++i) totals.push_back({i, windows[i].total});
    return mean_estimator(windows)(totals);
}

}  // namespace prof
