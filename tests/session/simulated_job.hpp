// SPDX-License-Identifier: Apache-2.0
// A training job as a plan sees it: steps whose lengths come from a model, and what windows add to them. Simulated
// time.
#pragma once

#include <cmath>
#include <cstdint>
#include <functional>
#include <random>
#include <vector>

#include "plan/window_plan.hpp"

namespace prof::test {

// Lengths in ns.
struct job_model {
    double step_ns = 20e6;
    double jitter = 0.05;      // sigma of a log-normal factor
    double drift = 0;          // at the end steps are longer by this factor
    std::uint64_t period = 0;  // every so many steps one is `long_factor` times as long; 0: none
    double long_factor = 1;
    double outliers = 0;           // share of steps that are 30 times as long
    std::uint64_t slow_steps = 8;  // at the beginning, 20 times as long
    double captured = 0.2;         // a captured step is longer by this share
    double open_ns = 8e6;
    double close_ns = 1e6;
    double settle_ns = 4e6;       // in the first step after a window
    double first_open_ns = 20e6;  // beside the others': libraries are loaded
};

struct job_outcome {
    double plain_ns = 0;     // what the job would have taken
    double overhead_ns = 0;  // what it took more
    double first_window_ns = 0;
    std::uint64_t windows = 0;
    std::vector<std::uint64_t> captured;   // steps
    std::vector<drawn_steps> drawn_among;  // by window
    std::vector<std::uint64_t> window_begins;
    double overhead() const { return overhead_ns / plain_ns; }
};

inline double plain_length(const job_model& model, std::uint64_t step, std::uint64_t steps, std::mt19937_64& random) {
    std::normal_distribution<double> normal;
    std::uniform_real_distribution<double> uniform;
    double ns = model.step_ns * std::exp(model.jitter * normal(random));
    ns *= 1 + model.drift * static_cast<double>(step) / static_cast<double>(steps);
    if (model.period != 0 && step % model.period == 0) ns *= model.long_factor;
    if (uniform(random) < model.outliers) ns *= 30;
    return step <= model.slow_steps ? 20 * ns : ns;
}

inline job_outcome run_job(const job_model& model, window_plan& plan, std::uint64_t steps, std::uint64_t seed) {
    std::mt19937_64 random(seed);
    job_outcome out;
    double now_ns = 1e9;
    bool open = false;
    (void)plan.begin();
    for (std::uint64_t step = 1; step <= steps; ++step) {
        const plan_action action = plan.next(plan_event::step, step, static_cast<std::uint64_t>(now_ns));
        const bool closes = action == plan_action::close || action == plan_action::reopen;
        const bool opens = action == plan_action::open || action == plan_action::reopen;
        const double plain_ns = plain_length(model, step, steps, random);
        double more_ns = 0;
        if (closes) {
            open = false;
            plan.took(plan_action::close, false, static_cast<std::uint64_t>(model.close_ns));
            more_ns += model.close_ns + model.settle_ns;
        }
        if (opens) {
            open = true;
            const double open_ns = model.open_ns + (out.windows == 0 ? model.first_open_ns : 0);
            plan.took(plan_action::open, true, static_cast<std::uint64_t>(open_ns));
            more_ns += open_ns;
            ++out.windows;
            out.drawn_among.push_back(plan.drawn_among());
            out.window_begins.push_back(step);
        }
        if (open) {
            more_ns += model.captured * plain_ns;
            out.captured.push_back(step);
        }
        now_ns += plain_ns + more_ns;
        out.plain_ns += plain_ns;
        out.overhead_ns += more_ns;
        if (out.windows == 1) out.first_window_ns = out.overhead_ns;
    }
    return out;
}

}  // namespace prof::test
