// SPDX-License-Identifier: Apache-2.0
// The lengths of a program's latest steps, and predictions of how long a step should have been. The prediction comes
// from plain steps before it: steps that are neither captured nor right after a window.
//
// Many programs have a long step at regular distances (an evaluation, an optimizer step after accumulating gradients).
// So a step is compared with those 1, 2, 3, … *lags* before it, where the lag is the distance that predicts plain steps
// best.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace prof {

class step_history {
public:
    static constexpr std::uint64_t longest_lag = 64;

    // Adds a step's length. Returns the step's number, from 0 on.
    std::uint64_t add(double ns, bool is_plain);

    std::uint64_t plain_steps() const noexcept { return plain_seen_; }
    // True if the latest steps are not much shorter than those before; false while there are fewer than eight.
    bool is_steady() const;
    // The mean length of plain steps, over a few hundred.
    double mean_ns() const noexcept { return mean_ns_; }

    // The lag, in steps. Takes about ten microseconds.
    std::uint64_t best_lag() const;
    // A recent step's length divided by its prediction with this lag; 0 if nothing is known of steps before it.
    double ratio(std::uint64_t step, std::uint64_t lag) const;
    // The same ratios for the latest plain steps before `step`, at most `count` of them.
    std::vector<double> plain_ratios(std::uint64_t step, std::uint64_t lag, std::size_t count) const;

private:
    static constexpr std::uint64_t remembered = 256;

    double plain_ns(std::uint64_t step) const noexcept;  // 0: the step was not plain, or is forgotten
    double predicted_ns(std::uint64_t step, std::uint64_t lag, std::size_t steps) const;
    double error_of(std::uint64_t lag, std::uint64_t steps) const;

    std::array<double, remembered> ns_{};
    std::array<bool, remembered> is_plain_{};
    std::uint64_t seen_ = 0;
    std::uint64_t plain_seen_ = 0;
    double mean_ns_ = 0;
};

}  // namespace prof
