// SPDX-License-Identifier: Apache-2.0
#include "compare/verdict.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <vector>

#include "compare/group_test.hpp"
#include "compare/mean.hpp"

namespace prof {
namespace {

constexpr double level_of_equivalence = 0.05;

std::vector<double> logs_of(std::span<const double> values) {
    std::vector<double> out;
    out.reserve(values.size());
    for (const double value : values) out.push_back(std::log(value));
    return out;
}

interval as_ratios(const interval& logs) { return {std::expm1(logs.low), std::expm1(logs.high)}; }

// Within the margin either way, by two one-sided tests.
bool is_within(const group_difference& of, double margin) {
    return of.p_below(std::log1p(margin)) < level_of_equivalence &&
           of.p_above(-std::log1p(margin)) < level_of_equivalence;
}

std::uint64_t more_than(std::uint64_t have, std::size_t wanted) {
    return wanted > have ? static_cast<std::uint64_t>(wanted) - have : 1;
}

}  // namespace

std::string_view to_string(verdict value) noexcept {
    switch (value) {
        case verdict::faster:
            return "faster";
        case verdict::slower:
            return "slower";
        case verdict::same:
            return "same";
        case verdict::inconclusive:
            return "inconclusive";
        case verdict::differ:
            return "differ";
        case verdict::do_not_differ:
            break;
    }
    return "do not differ";
}

judged_figure judge(std::span<const double> base, std::span<const double> changed, const verdict_options& options) {
    judged_figure out{.base = mean_of(base),
                      .changed = mean_of(changed),
                      .base_runs = base.size(),
                      .new_runs = changed.size(),
                      .margin = options.margin};
    const std::vector<double> from = logs_of(base);
    const std::vector<double> to = logs_of(changed);
    out.change = std::expm1(mean_of(to) - mean_of(from));
    const std::optional<group_difference> tested = difference_of(from, to);
    if (!tested) {
        constexpr std::uint64_t fewest = 3;  // of two runs a side not even large changes can be told
        out.more_runs = fewest - std::min({fewest - 1, out.base_runs, out.new_runs});
        return out;
    }
    out.at = as_ratios(tested->at(options.level));
    out.p = tested->p_two_sided();
    out.permutation_p = permutation_p(from, to);
    out.run_spread = std::expm1(tested->spread);
    if (is_within(*tested, options.margin)) {
        out.found = verdict::same;
    } else if (*out.p < 1 - options.level) {
        out.found = out.change < 0 ? verdict::faster : verdict::slower;
    } else if (const auto runs = runs_for_verdict(tested->difference, tested->spread, std::log1p(options.margin))) {
        out.more_runs = more_than(std::min(out.base_runs, out.new_runs), *runs);
    }
    return out;
}

judged_figure judge_pair(std::span<const double> base_steps, std::span<const double> new_steps,
                         const verdict_options& options) {
    const double base[] = {mean_of(base_steps)};
    const double changed[] = {mean_of(new_steps)};
    judged_figure out = judge(base, changed, options);
    constexpr std::size_t fewest_steps = 5;
    if (std::min(base_steps.size(), new_steps.size()) < fewest_steps) return out;
    out.at = as_ratios(log_ratio_interval(base_steps, new_steps, options.level));
    out.found = out.at->low > 0 || out.at->high < 0 ? verdict::differ : verdict::do_not_differ;
    return out;
}

}  // namespace prof
