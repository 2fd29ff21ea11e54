// SPDX-License-Identifier: Apache-2.0
// Opens windows as often as a share of the run's time allows (option budget).
//
// The steps are divided into *strata*. A stratum is a run of steps with one window, at a random place. So no periodic
// behaviour of the program can stay in step with the windows, and each step of a stratum has the same chance to be
// captured. A stratum is as long as it takes to earn the cost of its window. docs/guide/budget.md has the reasons and
// formulae.
#pragma once

#include <cstdint>
#include <string_view>

#include "plan/window_costs.hpp"
#include "plan/window_plan.hpp"

namespace prof {

// Parses a percentage from 0.01% to 50%, such as "1%" or "0.25%", into a share.
bool parse_budget(std::string_view text, double& share);

class budget_plan final : public window_plan {
public:
    // `share`: the part of the run's time that may be lost, 0 … 1.
    explicit budget_plan(double share, std::uint64_t seed = 1) noexcept : share_(share), random_state_(seed) {}

    plan_action begin() override { return plan_action::none; }
    plan_action next(plan_event event, std::uint64_t step, std::uint64_t now_ns) override;
    void took(plan_action action, bool is_open, std::uint64_t ns) override;
    drawn_steps drawn_among() const override { return {stratum_first_, stratum_steps_}; }

    const window_costs& costs() const noexcept { return costs_; }

private:
    void end_step(double ns);
    bool advance_stratum();
    void begin_stratum();
    void draw_stratum(std::uint64_t steps, std::uint64_t window_steps);
    double allowed_ns(double share) const;
    std::uint64_t random_below(std::uint64_t bound) noexcept;

    double share_;
    std::uint64_t random_state_;
    window_costs costs_;
    std::uint64_t began_ns_ = 0;
    std::uint64_t latest_ns_ = 0;
    std::uint64_t latest_step_ = 0;
    std::uint64_t steps_ = 0;  // number of steps that have begun
    bool had_window_ = false;

    std::uint64_t stratum_steps_ = 0;  // 0: between strata, since no window can be afforded yet
    std::uint64_t stratum_first_ = 0;
    std::uint64_t stratum_place_ = 0;  // place of the beginning step in the stratum
    std::uint64_t window_place_ = 0;   // place of the window in the stratum; its length follows
    std::uint64_t window_steps_ = 1;

    std::uint64_t open_steps_ = 0;                           // steps left in the open window
    std::uint64_t settling_ = window_costs::settling_steps;  // steps since the latest window ended
    bool in_window_ = false;
};

}  // namespace prof
