// SPDX-License-Identifier: Apache-2.0
#include "plan/window_costs.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>

namespace prof {
namespace {

constexpr std::size_t plain_steps_a_window = 8;
constexpr double spread_at_least = 0.05;  // least spread of steps that is assumed, whatever a few of them show
constexpr double least_factor = 0.01;
constexpr double margin_errors = 1;  // costs are estimated this many standard errors too high
// A few windows may have met a step that was long for other reasons. While there are only a few, the factor of a step
// is limited to the greater of these two: twice its prediction, or longer by most_of_few_ns.
constexpr std::size_t few_windows = 4;
constexpr double most_of_few = 2;
constexpr double most_of_few_ns = 50e6;
constexpr std::uint64_t windows_to_learn_lag = 8;  // the lag is chosen again after this many windows

// Removes the lowest and the highest tenth; from three values on at least one value each.
std::vector<double> trimmed(std::vector<double> values) {
    if (values.size() < 3) return values;
    std::sort(values.begin(), values.end());
    const auto cut = static_cast<std::ptrdiff_t>(std::max<std::size_t>(1, values.size() / 10));
    return {values.begin() + cut, values.end() - cut};
}

double mean_of(const std::vector<double>& values) {
    if (values.empty()) return 1;
    return std::accumulate(values.begin(), values.end(), 0.0) / static_cast<double>(values.size());
}

double standard_error(const std::vector<double>& values) {
    const double middle = mean_of(values);
    const auto count = static_cast<double>(std::max<std::size_t>(values.size(), 1));
    double squares = 0;
    for (const double value : values) squares += (value - middle) * (value - middle);
    return std::sqrt(std::max(squares / count, spread_at_least * spread_at_least) / count);
}

double median_of(std::vector<double> values) {
    const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
    std::nth_element(values.begin(), middle, values.end());
    return *middle;
}

// The excessive part of a step that takes `factor` times its prediction.
double excess_share(double factor) { return 1 - 1 / factor; }

}  // namespace

std::uint64_t window_costs::add(double ns, bool is_plain) {
    const std::uint64_t step = history_.add(std::max(ns - unseen_hold_ns_, 0.0), is_plain);
    unseen_hold_ns_ = 0;
    return step;
}

void window_costs::add_plain(double ns) { (void)add(ns, true); }

void window_costs::add_captured(double ns) {
    current_.captured_ns += std::max(ns - unseen_hold_ns_, 0.0);
    current_.captured_steps.push_back(add(ns, false));
}

void window_costs::add_settling(std::size_t place, double ns) {
    current_.settling_ns[place] = std::max(ns - unseen_hold_ns_, 0.0);
    current_.settling_step[place] = add(ns, false);
    if (place + 1 == settling_steps) assess();
}

void window_costs::hold(double ns) {
    unseen_hold_ns_ += ns;
    if (has_current_) current_.held_ns += ns;
}

void window_costs::lose(double ns) {
    unseen_hold_ns_ += ns;
    forgotten_ns_ += ns;
}

void window_costs::begin_window() {
    if (has_current_) assess();  // its settling is cut short
    has_current_ = true;
}

void window_costs::assess() {
    if (windows_ < windows_to_learn_lag || windows_ % windows_to_learn_lag == 0) lag_ = history_.best_lag();
    ++windows_;
    for (const std::uint64_t step : current_.captured_steps) {
        if (const double ratio = history_.ratio(step, lag_); ratio > 0) current_.captured.push_back(ratio);
    }
    for (std::size_t i = 0; i < settling_steps; ++i) {
        if (current_.settling_ns[i] > 0) current_.settling[i] = history_.ratio(current_.settling_step[i], lag_);
    }
    if (!current_.captured_steps.empty()) {
        current_.plain = history_.plain_ratios(current_.captured_steps.front(), lag_, plain_steps_a_window);
    }
    assessed_.push_back(std::move(current_));
    current_ = {};
    has_current_ = false;
    if (assessed_.size() > remembered_windows) {
        forgotten_ns_ += cost_of(assessed_.front());
        assessed_.pop_front();
    }
    learn();
}

void window_costs::learn() {
    std::vector<double> captured;
    std::vector<double> plain;
    std::array<std::vector<double>, settling_steps> settling;
    std::vector<double> holds_ns;
    for (const window& one : assessed_) {
        holds_ns.push_back(one.held_ns);
        captured.insert(captured.end(), one.captured.begin(), one.captured.end());
        plain.insert(plain.end(), one.plain.begin(), one.plain.end());
        for (std::size_t i = 0; i < settling_steps; ++i) {
            if (one.settling[i] > 0) settling[i].push_back(one.settling[i]);
        }
    }
    const double usual = mean_of(trimmed(std::move(plain)));
    const double most = assessed_.size() < few_windows
                            ? std::max(most_of_few, 1 + most_of_few_ns / std::max(history_.mean_ns(), 1.0))
                            : HUGE_VAL;
    double squared_errors = 0;
    const auto factor = [&](const std::vector<double>& values) {
        return std::clamp(mean_of(values) / usual, least_factor, most);
    };
    captured = trimmed(std::move(captured));
    known_.captured = factor(captured);
    squared_errors += std::pow(standard_error(captured), 2);
    for (std::size_t i = 0; i < settling_steps; ++i) {
        const std::vector<double> kept = trimmed(std::move(settling[i]));
        known_.settling[i] = factor(kept);
        if (!kept.empty()) squared_errors += std::pow(standard_error(kept), 2);
    }
    known_.margin = std::min(margin_errors * std::sqrt(squared_errors), most);
    known_.typical_hold_ns = median_of(std::move(holds_ns));
    assessed_ns_ = 0;
    for (const window& one : assessed_) assessed_ns_ += cost_of(one);
}

// An apparent gain of steps is not offset against holds, since it may be chance.
double window_costs::cost_of(const window& measured) const {
    double ns = measured.captured_ns * excess_share(known_.captured) + known_.margin * history_.mean_ns();
    for (std::size_t i = 0; i < settling_steps; ++i) ns += measured.settling_ns[i] * excess_share(known_.settling[i]);
    return measured.held_ns + std::max(ns, 0.0);
}

double window_costs::spent_ns() const {
    double ns = forgotten_ns_ + assessed_ns_;
    if (has_current_) ns += std::max(current_.held_ns, expected_ns(current_.captured_steps.size()));
    return ns;
}

double window_costs::captured_step_ns() const { return std::max(known_.captured - 1, 0.0) * history_.mean_ns(); }

double window_costs::fixed_ns() const {
    double steps = known_.margin;
    for (const double factor : known_.settling) steps += factor - 1;
    return known_.typical_hold_ns + std::max(steps, 0.0) * history_.mean_ns();
}

double window_costs::expected_ns(std::uint64_t steps) const {
    return fixed_ns() + static_cast<double>(steps) * captured_step_ns();
}

std::uint64_t window_costs::best_length() const {
    const double each_ns = captured_step_ns();
    if (each_ns <= 0) return longest_window;
    const double steps = std::round(std::sqrt(fixed_ns() / each_ns));
    return static_cast<std::uint64_t>(std::clamp(steps, 1.0, static_cast<double>(longest_window)));
}

}  // namespace prof
