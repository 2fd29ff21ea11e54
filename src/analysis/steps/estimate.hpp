// A mean over all steps of a run from the few that were captured, with a confidence interval. docs/budget.md derives
// the formulae. Pure functions.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

namespace prof {

// A window: some steps in a row, chosen at random from those that it stands for.
struct window_sample {
    double stands_for = 0;  // steps, those captured among them
    double steps = 0;       // captured; at least 1
    double total = 0;       // of what is measured, over them
};

struct estimate {
    double mean = 0;                   // a step
    std::optional<double> half_width;  // of the 95 % interval; none of a single window that does not hold all steps
};

// What is measured, over a window's captured steps, where it is not 0.
struct window_total {
    std::size_t window = 0;  // its place
    double total = 0;
};

// The estimates of many things from the same windows, most of which have nothing of most: each costs as much as the
// windows that have something of it. The windows' totals are not looked at.
class mean_estimator {
public:
    explicit mean_estimator(std::span<const window_sample> windows);
    // REQUIRES: in the order of the windows, each once.
    estimate operator()(std::span<const window_total> totals) const;

private:
    std::span<const window_sample> windows_;
    double all_steps_ = 0;
    bool all_captured_ = true;
    double t95_ = 0;
};

// `windows` in the order of time: each is compared with those beside it, so that a slow change does not count as
// chance.
estimate estimate_mean(std::span<const window_sample> windows);

// The value that Student's t with so many degrees of freedom (1 and more; they need not be whole) stays within, either
// way, with probability 0.95.
double student_t95(double degrees);

}  // namespace prof
