// SPDX-License-Identifier: Apache-2.0
#include "compare/limits.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "base/json_text.hpp"
#include "base/number.hpp"
#include "base/suggestion.hpp"
#include "compare/corrections.hpp"
#include "compare/group_test.hpp"
#include "compare/mean.hpp"

namespace prof {
namespace {

constexpr double level_of_gate = 0.05;
constexpr double most_percent = 1'000;

bool is_named(const named_cost& cost, const std::string& name) {
    if (!cost.name.ends_with(name)) return false;
    const std::size_t before = cost.name.size() - name.size();
    return before == 0 || cost.name[before - 1] == '/' || cost.name[before - 1] == '.';
}

double sum_of(const std::vector<named_cost>& costs, const std::string& name) {
    double out = 0;
    for (const named_cost& cost : costs) {
        if (is_named(cost, name)) out += cost.amount;
    }
    return out;
}

// What a limit may be on: its word, whether a name follows, the figure of a run (0: it is not there), and of named ones
// where the names are.
struct limited_figure {
    std::string_view word;
    double (*value)(const run_profile& run, const std::string& name);
    std::vector<named_cost> run_profile::*named = nullptr;
    bool is_memory = false;
};
constexpr std::array limited_figures = std::to_array<limited_figure>({
    {"step", [](const run_profile& run, const std::string&) { return run.step_ns; }},
    {"gpu", [](const run_profile& run, const std::string&) { return run.gpu_sum_ns; }},
    {.word = "memory",
     .value = [](const run_profile& run, const std::string&) { return run.peak_bytes; },
     .is_memory = true},
    {.word = "memory-median",
     .value = [](const run_profile& run, const std::string&) { return run.median_peak_bytes; },
     .is_memory = true},
    {"range",
     [](const run_profile& run, const std::string& name) {
         const double ns = sum_of(run.ranges, name);
         return ns > 0 ? ns : sum_of(run.numbered_ranges, name);
     },
     &run_profile::ranges},
    {"module", [](const run_profile& run, const std::string& name) { return sum_of(run.modules, name); },
     &run_profile::modules},
});

const limited_figure* figure_named(std::string_view word) {
    const auto* const found = std::find_if(limited_figures.begin(), limited_figures.end(),
                                           [&](const limited_figure& one) { return one.word == word; });
    return found == limited_figures.end() ? nullptr : found;
}

// In a run, on a logarithmic scale; none: it is not there.
std::optional<double> value_of(const run_profile& run, const gate_limit& limit) {
    const double value = figure_named(limit.of)->value(run, limit.name);
    return value > 0 ? std::optional(std::log(value)) : std::nullopt;
}

std::optional<std::vector<double>> values_of(const std::vector<run_profile>& runs, const gate_limit& limit) {
    std::vector<double> out;
    for (const run_profile& run : runs) {
        const std::optional<double> value = value_of(run, limit);
        if (!value) return {};
        out.push_back(*value);
    }
    return out;
}

// Why a limit cannot be tested that is on a figure which a run lacks.
std::string missing_text(const std::vector<run_profile>& base, const std::vector<run_profile>& changed,
                         const gate_limit& limit) {
    if (!figure_named(limit.of)->is_memory) return "it is not in each run of both sides";
    std::size_t missing = 0;
    const run_profile* first = nullptr;
    for (const std::vector<run_profile>* const side : {&base, &changed}) {
        for (const run_profile& run : *side) {
            if (value_of(run, limit)) continue;
            ++missing;
            if (first == nullptr) first = &run;
        }
    }
    const std::string name =
        first == nullptr || first->files.empty() ? std::string("a run") : terminal_safe(first->files.front());
    return fmt::format("no allocation was recorded in {}{}: `prof run --allocations on` records those of PyTorch", name,
                       missing > 1 ? fmt::format(" and {} more run{}", missing - 1, missing == 2 ? "" : "s") : "");
}

}  // namespace

std::string_view to_string(gate_result value) noexcept {
    switch (value) {
        case gate_result::holds:
            return "holds";
        case gate_result::fails:
            return "fails";
        case gate_result::inconclusive:
            break;
    }
    return "inconclusive";
}

std::optional<gate_limit> parse_gate_limit(const std::string& text) {
    gate_limit out{.text = text};
    std::string number = text;
    if (const std::size_t at = text.rfind('='); at != std::string::npos) {
        number = text.substr(at + 1);
        out.of = text.substr(0, at);
        if (const std::size_t colon = out.of.find(':'); colon != std::string::npos) {
            out.name = out.of.substr(colon + 1);
            out.of.resize(colon);
        }
    }
    const limited_figure* const figure = figure_named(out.of);
    if (figure == nullptr || (figure->named != nullptr) == out.name.empty()) return {};
    if (number.ends_with('%')) number.pop_back();
    const std::optional<double> percent = parse_number<double>(number, 0.0, most_percent);
    if (!percent) return {};
    out.most = *percent / 100;
    return out;
}

std::vector<gated_figure> gate(const std::vector<run_profile>& base, const std::vector<run_profile>& changed,
                               const std::vector<gate_limit>& limits) {
    std::vector<gated_figure> out;
    std::vector<double> probabilities;
    std::vector<std::size_t> tested;
    for (const gate_limit& limit : limits) {
        gated_figure& figure = out.emplace_back(gated_figure{.limit = limit});
        const auto from = values_of(base, limit);
        const auto into = values_of(changed, limit);
        if (!from || !into) {
            figure.why = missing_text(base, changed, limit);
            continue;
        }
        figure.change = std::expm1(mean_of(*into) - mean_of(*from));
        const std::optional<group_difference> difference = difference_of(*from, *into);
        if (!difference) {
            figure.why = fmt::format("{} and {} runs cannot tell: 2 on each side are needed, or 3 and 1", base.size(),
                                     changed.size());
            continue;
        }
        figure.p_holds = difference->p_below(std::log1p(limit.most));
        if (*figure.p_holds < level_of_gate) figure.found = gate_result::holds;
        tested.push_back(out.size() - 1);
        probabilities.push_back(difference->p_above(std::log1p(limit.most)));
    }
    const std::vector<double> corrected = holm(probabilities);
    for (std::size_t i = 0; i < tested.size(); ++i) {
        gated_figure& figure = out[tested[i]];
        figure.p_fails = corrected[i];
        if (corrected[i] < level_of_gate) figure.found = gate_result::fails;
        if (figure.found == gate_result::inconclusive) figure.why = "the runs spread too much to tell: more are needed";
    }
    return out;
}

std::string unknown_figure(const std::vector<run_profile>& base, const std::vector<run_profile>& changed,
                           const gate_limit& limit) {
    if (limit.name.empty()) return {};
    std::vector<std::string> known;
    for (const std::vector<run_profile>* const side : {&base, &changed}) {
        for (const run_profile& run : *side) {
            if (value_of(run, limit)) return {};
            for (const named_cost& cost : run.*figure_named(limit.of)->named) {
                known.push_back(cost.name);
                known.push_back(cost.name.substr(cost.name.find_last_of("/.") + 1));  // all of it, if there is none
            }
        }
    }
    const std::string near = nearest_name(limit.name, known);
    return fmt::format("no run has a {} {} with GPU time{}", limit.of, in_quotes(limit.name),
                       near.empty() ? "" : "; did you mean " + in_quotes(near) + "?");
}

void make_inconclusive(std::vector<gated_figure>& figures, const std::string& why) {
    for (gated_figure& figure : figures) {
        figure.found = gate_result::inconclusive;
        figure.why = why;
    }
}

gate_result worst_of(const std::vector<gated_figure>& of) {
    const auto has = [&](gate_result found) {
        return std::any_of(of.begin(), of.end(), [&](const gated_figure& figure) { return figure.found == found; });
    };
    if (has(gate_result::fails)) return gate_result::fails;
    return has(gate_result::inconclusive) ? gate_result::inconclusive : gate_result::holds;
}

}  // namespace prof
