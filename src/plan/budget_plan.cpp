// SPDX-License-Identifier: Apache-2.0
#include "plan/budget_plan.hpp"

#include <algorithm>
#include <charconv>
#include <cmath>

namespace prof {
namespace {

// The aim is this share of the budget; the rest covers errors of the estimates.
constexpr double aimed_at = 0.8;
constexpr std::uint64_t steps_passed_over = 5;    // the first steps, which are slow
constexpr std::uint64_t longest_wait_steps = 64;  // the longest wait for steps to become steady
constexpr std::uint64_t first_stratum_steps = 8;
constexpr std::uint64_t shortest_stratum = 8;  // in windows: at most one step in eight is captured
constexpr double steepest = 2;  // a stratum may cost this many times the budget, if less was spent before
constexpr double longest_stratum_steps = 1e15;

}  // namespace

bool parse_budget(std::string_view text, double& share) {
    if (!text.ends_with('%')) return false;
    double percent = 0;
    const char* const end = text.data() + text.size() - 1;
    const auto [rest, status] = std::from_chars(text.data(), end, percent, std::chars_format::fixed);
    if (status != std::errc{} || rest != end || !(percent >= 0.01 && percent <= 50)) return false;
    share = percent / 100;
    return true;
}

plan_action budget_plan::next(plan_event event, std::uint64_t step, std::uint64_t now_ns) {
    if (event != plan_event::step) return plan_action::none;
    if (steps_ == 0) {
        began_ns_ = now_ns;
    } else {
        end_step(static_cast<double>(now_ns) - static_cast<double>(latest_ns_));
    }
    latest_ns_ = now_ns;
    latest_step_ = step;
    ++steps_;

    const bool ends = in_window_ && --open_steps_ == 0;
    if (!advance_stratum()) return ends ? plan_action::close : plan_action::none;
    return ends ? plan_action::reopen : plan_action::open;
}

void budget_plan::took(plan_action action, bool is_open, std::uint64_t ns) {
    if (in_window_) settling_ = 0;  // no action falls into the middle of a window
    in_window_ = is_open;
    if (is_open) {
        had_window_ = true;
        open_steps_ = window_steps_;
        costs_.begin_window();
    }
    if (is_open || action == plan_action::close) {
        costs_.hold(static_cast<double>(ns));
    } else {
        costs_.lose(static_cast<double>(ns));  // the window was passed over
    }
}

void budget_plan::end_step(double ns) {
    if (in_window_) {
        costs_.add_captured(ns);
    } else if (settling_ < window_costs::settling_steps) {
        costs_.add_settling(settling_++, ns);
    } else if (steps_ > steps_passed_over) {
        costs_.add_plain(ns);
    }
}

// Whether a window begins with the step that begins now.
bool budget_plan::advance_stratum() {
    if (stratum_steps_ != 0 && ++stratum_place_ == stratum_steps_) stratum_steps_ = 0;
    if (stratum_steps_ == 0) begin_stratum();
    if (stratum_steps_ == 0 || stratum_place_ != window_place_) return false;
    // The estimated cost of windows may have risen since the stratum began.
    return !had_window_ || allowed_ns(share_) >= costs_.expected_ns(window_steps_);
}

double budget_plan::allowed_ns(double share) const {
    return share * (static_cast<double>(latest_ns_) - static_cast<double>(began_ns_)) - costs_.spent_ns();
}

void budget_plan::begin_stratum() {
    if (!had_window_) {
        const bool waited = costs_.history().plain_steps() >= longest_wait_steps;
        if (costs_.history().is_steady() || waited) draw_stratum(first_stratum_steps, 1);
        return;
    }
    if (!costs_.has_learned()) return;
    const double share = aimed_at * share_;
    const std::uint64_t window_steps = costs_.best_length();
    const double window_ns = costs_.expected_ns(window_steps);
    const double left_ns = allowed_ns(share) - window_ns;
    if (left_ns < 0) return;
    // At the stratum's end the next window must be affordable, wherever in the next stratum it is.
    const double per_step_ns = share * std::max(costs_.history().mean_ns(), 1.0);
    const double steps = std::max((window_ns - left_ns) / per_step_ns, window_ns / (steepest * per_step_ns));
    const auto windows = static_cast<std::uint64_t>(
        std::ceil(std::min(steps, longest_stratum_steps) / static_cast<double>(window_steps)));
    draw_stratum(std::max(windows, shortest_stratum) * window_steps, window_steps);
}

// The stratum is cut into pieces of the window's length, and the window is one of them at random. So each step has the
// same chance.
void budget_plan::draw_stratum(std::uint64_t steps, std::uint64_t window_steps) {
    stratum_first_ = latest_step_;
    stratum_steps_ = steps;
    stratum_place_ = 0;
    window_steps_ = window_steps;
    window_place_ = random_below(steps / window_steps) * window_steps;
}

// SplitMix64 (Steele, Lea, Flood: Fast Splittable Pseudorandom Number Generators, 2014).
std::uint64_t budget_plan::random_below(std::uint64_t bound) noexcept {
    random_state_ += 0x9E3779B97F4A7C15U;
    std::uint64_t z = random_state_;
    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9U;
    z = (z ^ (z >> 27)) * 0x94D049BB133111EBU;
    z ^= z >> 31;
    return z % bound;
}

}  // namespace prof
