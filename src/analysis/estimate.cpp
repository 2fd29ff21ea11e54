#include "analysis/estimate.hpp"

#include <algorithm>
#include <array>
#include <cmath>

namespace prof {
namespace {

double share_not_captured(const window_sample& window) {
    return std::max(1 - window.steps / std::max(window.stands_for, window.steps), 0.0);
}

double mean_of(const window_sample& window) { return window.total / window.steps; }

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

estimate estimate_mean(std::span<const window_sample> windows) {
    estimate out;
    double all_steps = 0;
    bool all_captured = true;
    for (const window_sample& window : windows) {
        all_steps += window.stands_for;
        all_captured = all_captured && share_not_captured(window) == 0;
    }
    if (all_steps <= 0) return out;
    for (const window_sample& window : windows) out.mean += window.stands_for / all_steps * mean_of(window);
    if (all_captured) out.half_width = 0;
    if (all_captured || windows.size() < 2) return out;

    double variance = 0;
    for (std::size_t i = 0; i < windows.size(); ++i) {
        // Half the square of the difference to a neighbour is what the windows' means vary by on average.
        double squares = 0;
        double neighbours = 0;
        for (const std::size_t other : {i - 1, i + 1}) {
            if (other >= windows.size()) continue;  // i - 1 of the first wraps
            const double difference = mean_of(windows[i]) - mean_of(windows[other]);
            squares += difference * difference / 2;
            neighbours += 1;
        }
        const double weight = windows[i].stands_for / all_steps;
        variance += weight * weight * share_not_captured(windows[i]) * squares / neighbours;
    }
    const auto differences = static_cast<double>(windows.size() - 1);
    const double degrees = 2 * differences * differences / (3 * differences - 1);
    out.half_width = student_t95(degrees) * std::sqrt(variance);
    return out;
}

}  // namespace prof
