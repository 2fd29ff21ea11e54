// Windows as often as a share of the run's time allows (option budget). The steps are divided into *strata*, stretches
// of steps of which each has one window, at a place drawn at random: no periodic behaviour of the program can be in
// step with that, and every step of a stratum has the same chance to be captured. A stratum is as long as it takes to
// earn its window. docs/budget.md says what for, and with which formulae.
#pragma once

#include <cstdint>
#include <string_view>

#include "plan/window_costs.hpp"
#include "plan/window_plan.hpp"

namespace prof {

// "1%", "0.25%": a percentage from 0.01% to 50%, as a share.
bool parse_budget(std::string_view text, double& share);

class budget_plan final : public window_plan {
public:
    // `share`: of the run's time that may be lost, 0 … 1.
    explicit budget_plan(double share, std::uint64_t seed = 1) noexcept : share_(share), random_state_(seed) {}

    plan_action begin() override { return plan_action::none; }
    plan_action next(plan_event event, std::uint64_t step, std::uint64_t now_ns) override;
    void took(plan_action action, std::uint64_t ns) override;
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
    std::uint64_t steps_ = 0;  // that have begun
    bool had_window_ = false;

    std::uint64_t stratum_steps_ = 0;  // 0: between strata, since a window cannot be afforded yet
    std::uint64_t stratum_first_ = 0;
    std::uint64_t stratum_place_ = 0;  // of the step that begins
    std::uint64_t window_place_ = 0;   // of the window in the stratum, and its length
    std::uint64_t window_steps_ = 1;

    std::uint64_t open_steps_ = 0;                           // that are left of the window that is open
    std::uint64_t settling_ = window_costs::settling_steps;  // steps since a window ended
    bool in_window_ = false;
};

}  // namespace prof
