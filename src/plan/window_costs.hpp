// What windows cost the program, learned from the lengths of its steps: those that were captured, and those after them,
// are compared with what plain steps foretell. Steps vary, so it is trimmed means of many that are compared; what
// opening and closing held the program up for is known exactly, and is taken out of the steps first. docs/budget.md has
// the formulae. Reads no clock. A step costs a few additions; the end of a window, some microseconds.
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
    // Steps after a window that may feel its end: the GPU's records are read and CUPTI is detached from meanwhile.
    static constexpr std::size_t settling_steps = 3;

    // The steps, as each of them ends. What hold() was called for while it was under way is taken out of its length.
    void add_plain(double ns);
    void add_captured(double ns);
    void add_settling(std::size_t place, double ns);  // place: 0 … settling_steps − 1
    void hold(double ns);

    void begin_window();

    const step_history& history() const noexcept { return history_; }
    bool has_learned() const noexcept { return !assessed_.empty(); }  // of at least one window

    // All windows up to now; the one under way for what its steps so far are going to cost.
    double spent_ns() const;
    // What a window of so many steps is going to cost, rather more than less.
    double expected_ns(std::uint64_t steps) const;
    // The number of steps for which a window yields most for what it costs.
    std::uint64_t best_length() const;

private:
    static constexpr std::size_t remembered_windows = 64;
    static constexpr std::uint64_t longest_window = 8;

    // Times without holds; ratios to what was foretold.
    struct window {
        double held_ns = 0;
        double captured_ns = 0;
        std::vector<std::uint64_t> captured_steps;
        std::vector<double> captured;
        std::array<double, settling_steps> settling_ns{};
        std::array<std::uint64_t, settling_steps> settling_step{};
        std::array<double, settling_steps> settling{};  // 0: not seen
        std::vector<double> plain;                      // of the steps before it
    };
    struct factors {
        double captured = 1;
        std::array<double, settling_steps> settling{1, 1, 1};
        double margin = 0;  // for the errors of all of these, in steps
        double typical_hold_ns = 0;
    };

    std::uint64_t add(double ns, bool is_plain);
    void assess();
    void learn();
    double cost_of(const window& of) const;
    double fixed_ns() const;
    double captured_step_ns() const;

    step_history history_;
    double unseen_hold_ns_ = 0;  // in the step under way
    window current_;
    bool has_current_ = false;  // a window that is open, or has ended and was not assessed yet
    std::deque<window> assessed_;
    std::uint64_t windows_ = 0;
    std::uint64_t lag_ = 1;
    factors known_;
    double assessed_ns_ = 0;   // what those cost
    double forgotten_ns_ = 0;  // what those before them cost
};

}  // namespace prof
