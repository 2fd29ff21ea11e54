// SPDX-License-Identifier: Apache-2.0
// Estimates what windows cost the program, from the lengths of its steps. Captured steps and the steps after a window
// are compared with the predictions from plain steps. Since steps vary, trimmed means of many steps are compared. The
// time that opening and closing a window held the program up is known exactly, and is subtracted from the steps first.
// docs/lab/design-notes.md has the formulae.
//
// Reads no clock. Cost: a few additions for each step, some microseconds at the end of a window.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <vector>

#include "plan/step_history.hpp"

namespace prof {

class window_costs {
public:
    // Steps after a window whose length its end may affect: GPU records are read and CUPTI is detached during them.
    static constexpr std::size_t settling_steps = 3;

    // Adds a step that has ended. Times passed to hold() and lose() during the step are subtracted from its length.
    void add_plain(double ns);
    void add_captured(double ns);
    void add_settling(std::size_t place, double ns);  // place: 0 … settling_steps − 1
    void hold(double ns);
    void lose(double ns);  // held up the program, and belongs to no window

    void begin_window();

    const step_history& history() const noexcept { return history_; }
    bool has_learned() const noexcept { return !assessed_.empty(); }  // from at least one window

    // The cost of all windows so far. For the present window, what its steps so far are expected to cost.
    double spent_ns() const;
    // The expected cost of a window of `steps` steps; rather too high than too low.
    double expected_ns(std::uint64_t steps) const;
    // The number of steps at which a window yields most for its cost.
    std::uint64_t best_length() const;

private:
    static constexpr std::size_t remembered_windows = 64;
    static constexpr std::uint64_t longest_window = 8;

    // Times are without holds. Ratios are relative to the prediction.
    struct window {
        double held_ns = 0;
        double captured_ns = 0;
        std::vector<std::uint64_t> captured_steps;
        std::vector<double> captured;
        std::array<double, settling_steps> settling_ns{};
        std::array<std::uint64_t, settling_steps> settling_step{};
        std::array<double, settling_steps> settling{};  // 0: not seen
        std::vector<double> plain;                      // ratios of plain steps before the window
    };
    struct factors {
        double captured = 1;
        std::array<double, settling_steps> settling{1, 1, 1};
        double margin = 0;  // added for the errors of all these factors, in steps
        double typical_hold_ns = 0;
    };

    std::uint64_t add(double ns, bool is_plain);
    void assess();
    void learn();
    double cost_of(const window& measured) const;
    double fixed_ns() const;
    double captured_step_ns() const;

    step_history history_;
    double unseen_hold_ns_ = 0;  // hold in the present step
    window current_;
    bool has_current_ = false;  // a window is open, or has ended and is not assessed yet
    std::deque<window> assessed_;
    std::uint64_t windows_ = 0;
    std::uint64_t lag_ = 1;
    factors known_;
    double assessed_ns_ = 0;   // cost of the windows in assessed_
    double forgotten_ns_ = 0;  // cost of the windows before those, and what lose() was given
};

}  // namespace prof
