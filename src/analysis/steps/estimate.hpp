// SPDX-License-Identifier: Apache-2.0
// Estimates a mean over all steps of a run from the captured ones, with a confidence interval. docs/guide/budget.md
// derives the formulae. Pure functions.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

namespace prof {

// A window: consecutive steps, chosen at random from the steps for which it stands.
struct window_sample {
    double stands_for = 0;  // number of steps, including the captured ones
    double steps = 0;       // number of captured steps; at least 1
    double total = 0;       // of the measured quantity, over the captured steps
};

struct estimate {
    double mean = 0;                   // of a step
    std::optional<double> half_width;  // of the 95 % interval; none for a single window that does not contain all steps
};

// The measured quantity over a window's captured steps, if it is not 0.
struct window_total {
    std::size_t window = 0;  // index of the window
    double total = 0;
};

// Estimates many quantities from the same windows, when most quantities are 0 in most windows. The cost of each is
// proportional to the windows where it is not 0. window_sample::total is not used.
class mean_estimator {
public:
    explicit mean_estimator(std::span<const window_sample> windows);
    // REQUIRES: in the order of the windows, each at most once.
    estimate operator()(std::span<const window_total> totals) const;

private:
    std::span<const window_sample> windows_;
    double all_steps_ = 0;
    bool all_captured_ = true;
    double t95_ = 0;
};

// REQUIRES: `windows` are in the order of time. Each is compared with its neighbours, so that a slow change does not
// count as random variation.
estimate estimate_mean(std::span<const window_sample> windows);

// The bound t for which Student's t with `degrees` degrees of freedom lies in [−t, t] with probability 0.95. REQUIRES:
// `degrees` ≥ 1; it need not be whole.
double student_t95(double degrees);

}  // namespace prof
