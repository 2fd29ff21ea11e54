// SPDX-License-Identifier: Apache-2.0
#include "diagnose/uneven_steps.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "analysis/breakdown/step_breakdown.hpp"
#include "base/display_text.hpp"
#include "base/statistics.hpp"

namespace prof {
namespace {

constexpr std::size_t most_steps_named = 10;

std::string grown_part(const breakdown_row& row) {
    std::string out(row.use == time_use::idle ? to_string(row.cause) : to_string(row.use));
    if (!row.part.empty()) out += ", " + row.part;
    return out;
}

}  // namespace

std::optional<finding> price_uneven_steps(const std::vector<std::int64_t>& lengths_ns,
                                          const std::vector<finding>& found) {
    if (lengths_ns.size() < least_uneven_steps) return {};
    const double longest = longest_usual(lengths_ns, uneven_factor);
    const auto middle_ns = static_cast<std::int64_t>(std::min(median(lengths_ns), 1e18));
    finding out{.rule = std::string(uneven_steps_name), .trust = confidence::low};
    for (const std::int64_t ns : lengths_ns) {
        if (static_cast<double>(ns) <= longest) continue;
        out.gain_ns += ns - middle_ns;
        out.cost_ns += ns;
        ++out.steps;
    }
    if (out.steps == 0) return {};
    std::int64_t explained_ns = 0;
    for (const finding& other : found) {
        if (other.steps <= out.steps + 1) explained_ns += other.gain_ns;
    }
    if (2 * explained_ns >= out.gain_ns) return {};
    out.title = fmt::format("{} of {} steps {} longer than the others", with_thousands(out.steps),
                            with_thousands(lengths_ns.size()), out.steps == 1 ? "is" : "are");
    out.bound = "as if they were as long as the median step";
    out.advice = {"prof report --steps N:N+1 --report breakdown,idle shows one of them",
                  "Any: saving, logging and evaluation every N steps; garbage collection (gc.freeze, gc.disable); "
                  "batches of different sizes; another process on the machine"};
    return out;
}

std::vector<std::int64_t> times_to_complete(const dependency_graph& graph,
                                            const std::vector<std::int64_t>& replayed_steps_ns) {
    std::vector<std::int64_t> out = lengths_of(graph.steps());
    if (replayed_steps_ns.size() != out.size()) return out;
    for (const step_run& run : graph.runs()) {
        for (std::size_t i = run.first_step; i < run.first_step + run.steps; ++i) {
            const std::int64_t ns = replayed_steps_ns[i];
            out[i] = i == run.first_step ? std::min(out[i], ns) : ns;
        }
    }
    return out;
}

std::vector<std::int64_t> less_catching_up(std::vector<std::int64_t> lengths_ns) {
    const double middle = median(lengths_ns);
    const double longest = longest_usual(lengths_ns, uneven_factor);
    const auto middle_ns = static_cast<std::int64_t>(std::min(middle, 1e18));
    std::size_t late = lengths_ns.size();  // the latest longer step
    for (std::size_t i = 0; i < lengths_ns.size(); ++i) {
        const auto length = static_cast<double>(lengths_ns[i]);
        if (length > longest) {
            late = i;
        } else if (length >= 2 * middle - longest) {
            late = lengths_ns.size();
        } else if (late != lengths_ns.size()) {
            const std::int64_t caught_ns = std::min(middle_ns - lengths_ns[i], lengths_ns[late] - middle_ns);
            lengths_ns[late] -= caught_ns;
            lengths_ns[i] += caught_ns;
        }
    }
    return lengths_ns;
}

std::optional<finding> find_uneven_steps(const timeline& data, const attribution& att, const whole_steps& steps,
                                         const std::vector<std::int64_t>& lengths_ns,
                                         const std::vector<finding>& found) {
    std::optional<finding> out = price_uneven_steps(lengths_ns, found);
    if (!out) return {};
    const auto broken_down = break_down_steps(data, att, steps, most_steps_named);
    if (!broken_down) return {};
    const double longest = longest_usual(lengths_ns, uneven_factor);
    const auto is_uneven = [&](std::size_t at) {
        return at < lengths_ns.size() && static_cast<double>(lengths_ns[at]) > longest;
    };
    std::vector<bool> is_listed(lengths_ns.size() + 2);
    for (const slow_step& slow : broken_down->slow) {
        const auto step = std::find_if(steps.steps.begin(), steps.steps.end(),
                                       [&](const whole_step& each) { return each.number == slow.number; });
        const auto at = static_cast<std::size_t>(step - steps.steps.begin());
        // What holds a step up on the host may delay the next one on the GPU.
        if (step == steps.steps.end() || !(is_uneven(at) || is_uneven(at + 1) || (at > 0 && is_uneven(at - 1))))
            continue;
        // This step, or else the next one or the one before: what is listed explains one uneven step.
        const std::size_t explained = is_uneven(at) ? at : is_uneven(at + 1) ? at + 1 : at - 1;
        is_listed[explained] = true;
        const std::string grown = slow.excess_ns > 0 ? grown_part(broken_down->rows[slow.row]) : "no part grew alone";
        // A step of the GPU's includes its waiting for the next one's first launch.
        const whole_step& named = broken_down->by_gpu ? steps.steps[explained] : *step;
        out->parts.push_back({fmt::format("step {}, most of it: {}", named.number, grown), slow.length_ns, 1,
                              slow.length_ns, named.start_ns});
    }
    if (out->parts.empty()) return {};
    // The others: in the breakdown, which is of the GPU's time or the host's, they are not longer.
    for (std::size_t at = 0;
         at < std::min(lengths_ns.size(), steps.steps.size()) && out->parts.size() < most_steps_named; ++at) {
        if (!is_uneven(at) || is_listed[at]) continue;
        const whole_step& step = steps.steps[at];
        out->parts.push_back({fmt::format("step {}, which no part of the breakdown explains", step.number),
                              lengths_ns[at], 1, lengths_ns[at], step.start_ns});
    }
    return out;
}

}  // namespace prof
