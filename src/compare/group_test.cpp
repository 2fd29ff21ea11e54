// SPDX-License-Identifier: Apache-2.0
#include "compare/group_test.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <vector>

#include "compare/mean.hpp"
#include "compare/t_distribution.hpp"

namespace prof {
namespace {

constexpr double level_of_difference = 0.05;
constexpr double power_wanted = 0.8;
constexpr std::size_t most_runs = 1'000;

double squares_of(std::span<const double> values) {
    const double mean = mean_of(values);
    double out = 0;
    for (const double value : values) out += (value - mean) * (value - mean);
    return out;
}

// As if t were as large as it can be, where nothing varies.
double tail(double distance, double error, double degrees) {
    if (error > 0) return 1 - student_t_probability(distance / error, degrees);
    return distance > 0 ? 0 : 1;
}

// The distance, from what is to be excluded, that so many runs a side see with the power that is wanted.
double visible_distance(std::size_t runs, double spread, double level) {
    const auto n = static_cast<double>(runs);
    const double degrees = 2 * n - 2;
    const double needed = student_t_quantile(1 - level, degrees) + student_t_quantile(power_wanted, degrees);
    return needed * spread * std::sqrt(2 / n);
}

bool is_enough(std::size_t runs, double distance, double spread, double level) {
    return distance > visible_distance(runs, spread, level);
}

std::optional<std::size_t> fewest_runs(double distance, double spread, double level) {
    constexpr std::size_t fewest = 2;
    if (!(distance > 0) || !is_enough(most_runs, distance, spread, level)) return {};
    std::size_t low = fewest;
    std::size_t high = most_runs;
    while (low < high) {
        const std::size_t middle = (low + high) / 2;
        if (is_enough(middle, distance, spread, level)) {
            high = middle;
        } else {
            low = middle + 1;
        }
    }
    return low;
}

}  // namespace

double group_difference::p_two_sided() const { return std::min(1.0, 2 * tail(std::abs(difference), error, degrees)); }
double group_difference::p_above(double limit) const { return tail(difference - limit, error, degrees); }
double group_difference::p_below(double limit) const { return tail(limit - difference, error, degrees); }

interval group_difference::at(double level) const {
    const double half = error > 0 ? error * student_t_quantile((1 + level) / 2, degrees) : 0;
    return {difference - half, difference + half};
}

std::optional<group_difference> difference_of(std::span<const double> from, std::span<const double> to) {
    if (from.empty() || to.empty()) return {};
    const auto n = static_cast<double>(from.size());
    const auto m = static_cast<double>(to.size());
    const double together = n + m - 2;
    group_difference out{.difference = mean_of(to) - mean_of(from)};
    const double squares = squares_of(from) + squares_of(to);
    if (from.size() == 1 || to.size() == 1) {
        if (together < 2) return {};
        out.degrees = together;
        out.spread = std::sqrt(squares / together);
        out.error = out.spread * std::sqrt(1 / n + 1 / m);
        return out;
    }
    out.spread = std::sqrt(squares / together);
    const double a = squares_of(from) / (n - 1) / n;
    const double b = squares_of(to) / (m - 1) / m;
    out.error = std::sqrt(a + b);
    out.degrees = a + b > 0 ? (a + b) * (a + b) / (a * a / (n - 1) + b * b / (m - 1)) : together;
    return out;
}

std::optional<double> permutation_p(std::span<const double> from, std::span<const double> to) {
    constexpr double fewest_ways = 20;
    constexpr double most_ways = 200'000;
    const std::size_t all = from.size() + to.size();
    const std::size_t chosen = std::min(from.size(), to.size());
    double ways = 1;
    for (std::size_t i = 0; i < chosen; ++i) ways = ways * static_cast<double>(all - i) / static_cast<double>(i + 1);
    if (chosen == 0 || ways < fewest_ways || ways > most_ways) return {};
    std::vector<double> values(from.begin(), from.end());
    values.insert(values.end(), to.begin(), to.end());
    const double mean = mean_of(values);
    for (double& value : values) value -= mean;
    // The sum of one group decides, as that of all is 0.
    const double seen =
        std::abs(std::accumulate(values.begin(), values.begin() + static_cast<std::ptrdiff_t>(from.size()), 0.0));
    const double rounding = 1e-12 * std::accumulate(values.begin(), values.end(), 0.0,
                                                    [](double sum, double value) { return sum + std::abs(value); });
    std::vector<std::size_t> members(chosen);
    std::iota(members.begin(), members.end(), std::size_t{0});
    double extreme = 0;
    for (;;) {
        double sum = 0;
        for (const std::size_t member : members) sum += values[member];
        if (std::abs(sum) >= seen - rounding) ++extreme;
        std::size_t last = chosen;
        while (last != 0 && members[last - 1] == all - chosen + last - 1) --last;
        if (last == 0) break;
        ++members[last - 1];
        for (std::size_t i = last; i < chosen; ++i) members[i] = members[i - 1] + 1;
    }
    return extreme / ways;
}

double spread_of_group(std::span<const double> values) {
    return values.size() < 2 ? 0 : std::sqrt(squares_of(values) / static_cast<double>(values.size() - 1));
}

std::optional<double> least_visible_difference(double spread, std::size_t runs) {
    if (runs < 2) return {};
    return visible_distance(runs, spread, level_of_difference / 2);
}

std::optional<std::size_t> runs_for_difference(double difference, double spread) {
    return fewest_runs(std::abs(difference), spread, level_of_difference / 2);
}

std::optional<std::size_t> runs_for_verdict(double difference, double spread, double margin) {
    const std::optional<std::size_t> differs = runs_for_difference(difference, spread);
    const std::optional<std::size_t> is_same = fewest_runs(margin - std::abs(difference), spread, level_of_difference);
    if (!differs || !is_same) return differs ? differs : is_same;
    return std::min(*differs, *is_same);
}

}  // namespace prof
