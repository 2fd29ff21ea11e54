// The lengths of a program's latest steps, and how long any of them should have been: as long as plain ones before it.
// Many programs have a long step every so many (an evaluation, an optimizer step after gradients were accumulated). So
// a step is compared with those 1, 2, 3, … *lags* before it, and the lag is the one that foretells plain steps best.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace prof {

class step_history {
public:
    static constexpr std::uint64_t longest_lag = 64;

    // The number of the step, from 0 on.
    std::uint64_t add(double ns, bool is_plain);

    std::uint64_t plain_steps() const noexcept { return plain_seen_; }
    // The latest steps are no longer much shorter than those before them; false while there are fewer than eight.
    bool is_steady() const;
    // Mean of plain steps, over a few hundred.
    double mean_ns() const noexcept { return mean_ns_; }

    // The lag in steps. Takes some ten microseconds.
    std::uint64_t best_lag() const;
    // How many times as long as foretold with this lag a recent step was; 0 if nothing is known of steps before it.
    double ratio(std::uint64_t step, std::uint64_t lag) const;
    // Of the latest plain steps before `step`, at most `count`.
    std::vector<double> plain_ratios(std::uint64_t step, std::uint64_t lag, std::size_t count) const;

private:
    static constexpr std::uint64_t remembered = 256;

    double plain_ns(std::uint64_t step) const noexcept;  // 0: it was not plain, or is forgotten
    double predicted_ns(std::uint64_t step, std::uint64_t lag, std::size_t steps) const;
    double error_of(std::uint64_t lag, std::uint64_t steps) const;

    std::array<double, remembered> ns_{};
    std::array<bool, remembered> is_plain_{};
    std::uint64_t seen_ = 0;
    std::uint64_t plain_seen_ = 0;
    double mean_ns_ = 0;
};

}  // namespace prof
