// SPDX-License-Identifier: Apache-2.0
// What a rank's work in a step does by chance, from the excess of all ranks over the steps: how far it spreads, how
// long it keeps to one side, and how far its tail reaches. Pure.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace prof {

class step_noise {
public:
    // By rank and step: beyond the peers. NaN: not known. Ranks without values have an empty list.
    explicit step_noise(const std::vector<std::vector<double>>& excess);

    double deviation_ns() const noexcept { return deviation_ns_; }
    // Of a rank's usual excess over so many steps, that chance exceeds in one of `tries` cases with the probability of
    // `probability`; infinite where too few steps and ranks are known to say it.
    double usual_bound_ns(double tries, double probability) const;
    // Of one step's excess beyond the rank's usual one.
    double step_bound_ns(double tries, double probability) const;
    // What the steps of one of `ranks` exceed by chance so many times, with others between, of `steps` steps: with the
    // probability of `probability` once, and as much for all larger numbers of times together.
    double repeated_bound_ns(std::size_t times, std::size_t steps, double ranks, double probability) const;
    // 95 % of a mean over the steps, of which each spreads by the noise and by `spread_ns` besides; NaN: of one step.
    double error_ns(double spread_ns) const;
    std::size_t steps() const noexcept { return steps_; }

private:
    std::size_t steps_ = 0;
    double freedom_ = 0;        // degrees of it
    double deviation_ns_ = 0;   // of a step
    double longest_ = 1;        // at most so much wider is a mean's variance than that of independent steps,
    double usual_longer_ = 1;   // and probably so much
    double tail_begin_ns_ = 0;  // an upper quartile lies beyond it,
    double tail_scale_ns_ = 0;  // and each further factor e of probability so much further
};

// So many standard deviations are exceeded by chance in one of `tries` with this probability, at most.
double deviations_for(double tries, double probability) noexcept;
// The deviations that a mean of values with `freedom` degrees of freedom exceeds as often as a normal one does
// `normal`.
double deviations_with(double normal, double freedom) noexcept;

}  // namespace prof
