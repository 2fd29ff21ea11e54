// SPDX-License-Identifier: Apache-2.0
#include "diagnose/uneven_steps.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "analysis/breakdown/step_breakdown.hpp"
#include "base/display_text.hpp"
#include "base/statistics.hpp"

namespace prof {
namespace {

constexpr std::size_t most_steps_named = 10;

std::string grown_part(const breakdown_row& row) {
    std::string out(row.use == time_use::idle ? word_for(row.cause) : to_string(row.use));
    if (!row.part.empty()) out += ", " + row.part;
    return out;
}

// How long each step was in each part.
class part_times {
public:
    part_times(host_parts& parts, const std::vector<whole_step>& steps) {
        for (std::size_t i = 0; i < steps.size(); ++i) {
            parts.for_each(steps[i].start_ns, steps[i].end_ns, [&](const host_part& part) {
                std::vector<std::int64_t>& of_steps = times_ns_[parts.text(part)];
                of_steps.resize(steps.size());
                of_steps[i] += part.end_ns - part.start_ns;
            });
        }
        for (auto& [text, of_steps] : times_ns_) medians_ns_[text] = median(of_steps);
    }

    // That which takes most more time in this step than in the median step.
    std::string most_grown(std::size_t step) const {
        std::string out = "no part grew alone";
        double most_ns = 0;
        for (const auto& [text, of_steps] : times_ns_) {
            const double ns = static_cast<double>(of_steps[step]) - medians_ns_.at(text);
            if (ns <= most_ns) continue;
            most_ns = ns;
            out = text;
        }
        return out;
    }

private:
    std::map<std::string, std::vector<std::int64_t>> times_ns_;  // by text, of each step
    std::map<std::string, double> medians_ns_;
};

}  // namespace

namespace {

// The longest step, which the brief words name.
void name_longest(finding& of, std::uint64_t number, const std::string& grown) {
    if (of.parts.empty()) of.noun = fmt::format("{}; step {}: {}", of.title, number, grown);
    if (of.parts.empty())
        of.brief_advice = fmt::format("prof report --steps {}:{} shows step {}", number, number + 1, number);
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
    out.noun = out.title;
    out.bound = "as if they were as long as the median step";
    out.brief_advice = "prof report --steps N:N+1 shows one of them";
    out.advice = {"prof report --steps N:N+1 --report breakdown,idle shows one of them",
                  "Any: saving, logging and evaluation every N steps; garbage collection (gc.freeze, gc.disable); "
                  "batches of different sizes; another process on the machine"};
    return out;
}

std::optional<finding> find_uneven_steps(const timeline& data, const attribution& att, const whole_steps& steps,
                                         const std::vector<finding>& found) {
    std::optional<finding> out = price_uneven_steps(lengths_of(steps.steps), found);
    if (!out) return {};
    const auto broken_down = break_down_steps(data, att, steps, most_steps_named);
    if (!broken_down) return {};
    for (const slow_step& slow : broken_down->slow) {
        const auto step = std::find_if(steps.steps.begin(), steps.steps.end(),
                                       [&](const whole_step& each) { return each.number == slow.number; });
        if (step == steps.steps.end()) continue;
        const std::string grown = slow.excess_ns > 0 ? grown_part(broken_down->rows[slow.row]) : "no part grew alone";
        name_longest(*out, slow.number, grown);
        out->parts.push_back({fmt::format("step {}, most of it: {}", slow.number, grown), slow.length_ns, 1,
                              slow.length_ns, step->from_ns()});
    }
    return out;
}

std::optional<finding> find_uneven_steps(host_parts& parts, const whole_steps& steps,
                                         const std::vector<finding>& found) {
    const std::vector<std::int64_t> lengths_ns = lengths_of(steps.steps);
    std::optional<finding> out = price_uneven_steps(lengths_ns, found);
    if (!out) return {};
    const part_times times(parts, steps.steps);
    const double longest = longest_usual(lengths_ns, uneven_factor);
    std::vector<std::size_t> slow;
    for (std::size_t i = 0; i < lengths_ns.size(); ++i) {
        if (static_cast<double>(lengths_ns[i]) > longest) slow.push_back(i);
    }
    std::stable_sort(slow.begin(), slow.end(),
                     [&](std::size_t a, std::size_t b) { return lengths_ns[a] > lengths_ns[b]; });
    slow.resize(std::min(slow.size(), most_steps_named));
    out->advice.front() = out->brief_advice;
    for (const std::size_t step : slow) {
        name_longest(*out, steps.steps[step].number, times.most_grown(step));
        out->parts.push_back({fmt::format("step {}, most of it: {}", steps.steps[step].number, times.most_grown(step)),
                              lengths_ns[step], 1, lengths_ns[step], steps.steps[step].from_ns()});
    }
    return out;
}

}  // namespace prof
