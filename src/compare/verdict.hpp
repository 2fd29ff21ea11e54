// SPDX-License-Identifier: Apache-2.0
// What can be said of a figure of two groups of runs. Changes are of the second group from the first, as ratios: 0.02
// is 2 % more. Pure functions; docs/reference/compare.md defines each word.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

#include "compare/block_bootstrap.hpp"

namespace prof {

enum class verdict : std::uint8_t {
    faster,
    slower,
    same,          // within the margin
    inconclusive,  // more runs would tell
    // Of one run on each side, which say nothing of the code:
    differ,        // these two runs differ
    do_not_differ  // measurably
};
std::string_view to_string(verdict value) noexcept;  // "faster", "do not differ"

struct verdict_options {
    double margin = 0.01;  // a change below it does not matter
    double level = 0.95;   // of the interval
};

struct judged_figure {
    double base = 0;  // the mean over the runs
    double changed = 0;
    std::uint64_t base_runs = 0;
    std::uint64_t new_runs = 0;
    double change = 0;             // the ratio of the geometric means over the runs, less 1
    std::optional<interval> at{};  // of the change; none: nothing is known of it
    std::optional<double> p{};     // two-sided; none: there are too few runs
    std::optional<double> permutation_p{};
    verdict found = verdict::inconclusive;
    double margin = 0;
    std::optional<double> run_spread{};  // of one run, as a ratio
    // Inconclusive: so many more runs on each side would tell, in 4 of 5 cases; none: more than 1,000, or not known.
    std::optional<std::uint64_t> more_runs{};

    bool is_pair() const noexcept { return base_runs == 1 && new_runs == 1; }
};

// Values of runs, which are times: above 0. REQUIRES: neither side is empty.
judged_figure judge(std::span<const double> base, std::span<const double> changed, const verdict_options& options);

// Of one run on each side, whose steps are there: how sure the difference of these two runs is.
judged_figure judge_pair(std::span<const double> base_steps, std::span<const double> new_steps,
                         const verdict_options& options);

}  // namespace prof
