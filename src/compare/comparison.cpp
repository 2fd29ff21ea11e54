// SPDX-License-Identifier: Apache-2.0
#include "compare/comparison.hpp"

#include <algorithm>
#include <cmath>
#include <map>
#include <set>
#include <tuple>
#include <utility>

#include "base/apportioned.hpp"
#include "base/error.hpp"
#include "compare/corrections.hpp"
#include "compare/group_test.hpp"
#include "compare/mean.hpp"

namespace prof {
namespace {

using profiles = std::vector<run_profile>;

std::vector<double> figure_of(const profiles& runs, double run_profile::*figure) {
    std::vector<double> out;
    for (const run_profile& run : runs) out.push_back(run.*figure);
    return out;
}

// The values of a fact in a group, without repetition.
std::string fact_of(const profiles& runs, const std::string& what) {
    std::set<std::string> values;
    for (const run_profile& run : runs) {
        const auto found = run.facts.find(what);
        if (found != run.facts.end()) values.insert(found->second);
    }
    std::string out;
    for (const std::string& value : values) out.append(out.empty() ? "" : "; ").append(value);
    return out;
}

std::vector<fact_difference> differences_of(const profiles& base, const profiles& changed) {
    std::set<std::string> names;
    for (const profiles* const runs : {&base, &changed}) {
        for (const run_profile& run : *runs) {
            for (const auto& [name, value] : run.facts) names.insert(name);
        }
    }
    std::vector<fact_difference> out;
    for (const std::string& name : names) {
        fact_difference found{name, fact_of(base, name), fact_of(changed, name)};
        if (found.base != found.changed) out.push_back(std::move(found));
    }
    // The machine first, then what was run, then how it was recorded.
    std::stable_sort(out.begin(), out.end(), [](const fact_difference& a, const fact_difference& b) {
        const auto rank = [](const std::string& what) {
            if (what.find("GPU") != std::string::npos) return 0;
            if (what == "driver" || what == "host" || what.starts_with("CUDA")) return 1;
            return what.starts_with("--") || what == "windows" || what == "libprof" || what == "CUPTI" ? 3 : 2;
        };
        return rank(a.what) < rank(b.what);
    });
    return out;
}

void add_figure(comparison& to, const char* name, const profiles& base, const profiles& changed,
                double run_profile::*figure, const verdict_options& options) {
    const std::vector<double> from = figure_of(base, figure);
    const std::vector<double> into = figure_of(changed, figure);
    const auto is_positive = [](double value) { return value > 0; };
    if (!std::all_of(from.begin(), from.end(), is_positive) || !std::all_of(into.begin(), into.end(), is_positive)) {
        return;
    }
    const bool is_step = figure == &run_profile::step_ns;
    const bool is_memory = figure == &run_profile::peak_bytes || figure == &run_profile::median_peak_bytes;
    to.figures.push_back({name,
                          is_step && to.is_pair()
                              ? judge_pair(base.front().step_lengths_ns, changed.front().step_lengths_ns, options)
                              : judge(from, into, options),
                          is_memory});
}

// The means over the runs of a group; the names in the order of their first run.
std::vector<named_cost> mean_costs(const profiles& runs, std::vector<named_cost> run_profile::*list) {
    std::map<std::string, std::size_t> places;
    std::vector<named_cost> out;
    for (const run_profile& run : runs) {
        for (const named_cost& cost : run.*list) {
            const auto [at, is_new] = places.try_emplace(cost.name, out.size());
            if (is_new) out.push_back({.name = cost.name});
            out[at->second].amount += cost.amount / static_cast<double>(runs.size());
            out[at->second].count += cost.count / static_cast<double>(runs.size());
        }
    }
    return out;
}

// Of a name in each run, 0 where it is not.
std::vector<double> values_of(const profiles& runs, std::vector<named_cost> run_profile::*list,
                              const std::string& name) {
    std::vector<double> out;
    for (const run_profile& run : runs) {
        const auto found = std::find_if((run.*list).begin(), (run.*list).end(),
                                        [&](const named_cost& cost) { return cost.name == name; });
        out.push_back(found == (run.*list).end() ? 0 : found->amount);
    }
    return out;
}

std::vector<compared_cost> compared(const profiles& base, const profiles& changed,
                                    std::vector<named_cost> run_profile::*list, bool are_kernels) {
    constexpr std::size_t most_tested = 1'000;
    const std::vector<named_cost> from = mean_costs(base, list);
    const std::vector<named_cost> into = mean_costs(changed, list);
    std::vector<compared_cost> out;
    for (const matched_name& match : are_kernels ? match_kernels(from, into) : match_equal(from, into)) {
        compared_cost row{.how = match.how};
        if (match.base != SIZE_MAX) {
            const named_cost& cost = from[match.base];
            std::tie(row.is_in_base, row.name, row.base_amount, row.base_count) =
                std::tuple(true, cost.name, cost.amount, cost.count);
        }
        if (match.changed != SIZE_MAX) {
            const named_cost& cost = into[match.changed];
            if (row.is_in_base && row.name != cost.name) row.old_name = row.name;
            std::tie(row.is_in_new, row.name, row.new_amount, row.new_count) =
                std::tuple(true, cost.name, cost.amount, cost.count);
        }
        out.push_back(std::move(row));
    }
    std::stable_sort(out.begin(), out.end(), [](const compared_cost& a, const compared_cost& b) {
        return std::abs(a.new_amount - a.base_amount) > std::abs(b.new_amount - b.base_amount);
    });
    std::vector<double> probabilities;
    std::vector<std::size_t> tested;
    for (std::size_t i = 0; i < std::min(out.size(), most_tested); ++i) {
        const std::string& old_name = out[i].old_name.empty() ? out[i].name : out[i].old_name;
        const auto difference = difference_of(values_of(base, list, old_name), values_of(changed, list, out[i].name));
        if (!difference) continue;
        tested.push_back(i);
        probabilities.push_back(difference->p_two_sided());
    }
    const std::vector<double> corrected = benjamini_hochberg(probabilities);
    for (std::size_t i = 0; i < tested.size(); ++i) out[tested[i]].p = corrected[i];
    return out;
}

// Memory by place, where each run has it. Where some have it and others have none, a note; where none has any, nobody
// asked for it.
void add_memory(comparison& to, const profiles& base, const profiles& changed) {
    const auto has_memory = [](const run_profile& run) { return run.peak_bytes > 0; };
    const auto count =
        std::count_if(base.begin(), base.end(), has_memory) + std::count_if(changed.begin(), changed.end(), has_memory);
    if (count == 0) return;
    if (static_cast<std::size_t>(count) != base.size() + changed.size()) {
        to.notes.emplace_back("memory is not compared: not every run has recorded allocations (--allocations on)");
        return;
    }
    // Baselines of earlier versions have the peaks alone.
    const auto has_places = [](const run_profile& run) { return !run.memory.empty(); };
    if (!std::all_of(base.begin(), base.end(), has_places) ||
        !std::all_of(changed.begin(), changed.end(), has_places)) {
        to.notes.emplace_back("what holds the memory is not compared: it is not known of every run");
        return;
    }
    to.memory = compared(base, changed, &run_profile::memory, false);
}

// A finding is the same if it is of the same rule, and says the same.
std::vector<compared_finding> compared_findings(const profiles& base, const profiles& changed) {
    std::vector<compared_finding> out;
    const auto add = [&](const profiles& runs, bool compared_finding::*is_in, double compared_finding::*gain) {
        for (const run_profile& run : runs) {
            for (const kept_finding& found : run.findings) {
                auto known = std::find_if(out.begin(), out.end(), [&](const compared_finding& one) {
                    return one.rule == found.rule && one.title == found.title;
                });
                if (known == out.end()) known = out.insert(known, {.rule = found.rule, .title = found.title});
                (*known).*is_in = true;
                (*known).*gain = std::max((*known).*gain, found.gain_ns);
            }
        }
    };
    add(base, &compared_finding::is_in_base, &compared_finding::base_ns);
    add(changed, &compared_finding::is_in_new, &compared_finding::new_ns);
    std::stable_sort(out.begin(), out.end(), [](const compared_finding& a, const compared_finding& b) {
        return std::abs(a.new_ns - a.base_ns) > std::abs(b.new_ns - b.base_ns);
    });
    return out;
}

bool any_has(const profiles& runs, bool run_profile::*what) {
    return std::any_of(runs.begin(), runs.end(), [&](const run_profile& run) { return run.*what; });
}

// A side without records of the GPU has the host's time by phase in its waterfall, and no ranges or kernels with GPU
// time: nothing of that is a change of the program.
void add_warnings(comparison& to, const profiles& base, const profiles& changed) {
    const auto without = [](const profiles& runs) {
        std::vector<std::string> out;
        for (const run_profile& run : runs) {
            if (!(run.devices > 0)) out.push_back(run.files.front());
        }
        return out;
    };
    const std::vector<std::string> of_base = without(base);
    const std::vector<std::string> of_new = without(changed);
    const std::size_t all = base.size() + changed.size();
    const std::size_t count = of_base.size() + of_new.size();
    if (count == 0) return;
    if (count == all) {
        to.notes.emplace_back("no run has records of GPU work: the host's time is compared");
        return;
    }
    const std::string& first = of_base.empty() ? of_new.front() : of_base.front();
    std::string which = of_base.size() == base.size()     ? "the base has"
                        : of_new.size() == changed.size() ? "the new side has"
                        : count == 1                      ? "a run has"
                                                          : std::to_string(count) + " runs have";
    to.warnings.push_back(which + " no records of GPU work, unlike the others (" + first + (count > 1 ? ", ..." : "") +
                          "): only lengths of steps can be compared, and not what they are made of");
}

// The mean of a cell over the runs, by phase and use.
std::map<std::pair<std::string, std::string>, double> mean_cells(const profiles& runs) {
    std::map<std::pair<std::string, std::string>, double> out;
    for (const run_profile& run : runs) {
        for (const time_cell& cell : run.cells) {
            out[{cell.phase, cell.use}] += cell.ns / static_cast<double>(runs.size());
        }
    }
    return out;
}

}  // namespace

std::vector<compared_run> figures_of_runs(const std::vector<run_profile>& runs, bool are_new) {
    constexpr double level = 0.95;
    constexpr std::size_t fewest_steps = 5;  // as of a pair
    std::vector<compared_run> out;
    for (const run_profile& run : runs) {
        compared_run& figure = out.emplace_back(compared_run{.is_new = are_new,
                                                             .file = run.files.empty() ? "" : run.files.front(),
                                                             .steps = run.has_steps ? run.step_lengths_ns.size() : 0,
                                                             .step_ns = run.step_ns,
                                                             .gpu_sum_ns = run.gpu_sum_ns,
                                                             .gpu_busy_ns = run.gpu_busy_ns,
                                                             .peak_bytes = run.peak_bytes});
        if (figure.steps >= fewest_steps) figure.at = mean_interval(run.step_lengths_ns, level);
    }
    return out;
}

waterfall make_waterfall(const std::vector<run_profile>& base, const std::vector<run_profile>& changed) {
    const double from_ns = mean_of(figure_of(base, &run_profile::step_ns));
    const double into_ns = mean_of(figure_of(changed, &run_profile::step_ns));
    constexpr double decimals = 1000;  // of times in tables
    const auto quantum = static_cast<std::int64_t>(unit_of_step(std::max(from_ns, into_ns)).ns / decimals);
    const auto before = mean_cells(base);
    const auto after = mean_cells(changed);
    std::set<std::pair<std::string, std::string>> keys;
    for (const auto* const side : {&before, &after}) {
        for (const auto& [key, ns] : *side) keys.insert(key);
    }
    waterfall out;
    std::vector<double> base_shares;
    std::vector<double> new_shares;
    for (const auto& key : keys) {
        const auto of = [&](const auto& side) {
            const auto found = side.find(key);
            return found == side.end() ? 0.0 : std::max(0.0, found->second);
        };
        out.parts.push_back({.phase = key.first, .use = key.second});
        base_shares.push_back(of(before));
        new_shares.push_back(of(after));
    }
    const auto spread = [&](const std::vector<double>& shares, double step_ns, std::int64_t& sum,
                            std::int64_t waterfall_part::*part) {
        const std::vector<std::int64_t> made =
            apportioned(shares, std::llround(step_ns / static_cast<double>(quantum)));
        for (std::size_t i = 0; i < made.size(); ++i) {
            out.parts[i].*part = made[i] * quantum;
            sum += made[i] * quantum;
        }
    };
    spread(base_shares, from_ns, out.base_ns, &waterfall_part::base_ns);
    spread(new_shares, into_ns, out.new_ns, &waterfall_part::new_ns);
    std::stable_sort(out.parts.begin(), out.parts.end(), [](const waterfall_part& a, const waterfall_part& b) {
        return std::abs(a.change_ns()) > std::abs(b.change_ns());
    });
    return out;
}

comparison compare(const std::vector<run_profile>& base, const std::vector<run_profile>& changed,
                   const verdict_options& options) {
    comparison out{.has_steps = any_has(base, &run_profile::has_steps),
                   .base_runs = base.size(),
                   .new_runs = changed.size(),
                   .differences = differences_of(base, changed)};
    for (const profiles* const runs : {&base, &changed}) {
        for (const run_profile& run : *runs) {
            if (run.has_steps != out.has_steps) {
                throw error("some of these captures have steps, and some have none: " + run.files.front() + " has " +
                            (run.has_steps ? "some" : "none") + "; --step-range names the range that is a step");
            }
            out.files.insert(out.files.end(), run.files.begin(), run.files.end());
        }
    }
    add_warnings(out, base, changed);
    add_figure(out, out.has_steps ? "step" : "recording", base, changed, &run_profile::step_ns, options);
    if (out.figures.empty()) {
        for (const profiles* const runs : {&base, &changed}) {
            for (const run_profile& run : *runs) {
                if (!(run.step_ns > 0)) throw error(run.files.front() + ": nothing was recorded that takes time");
            }
        }
    }
    add_figure(out, "GPU time", base, changed, &run_profile::gpu_sum_ns, options);
    add_figure(out, "GPU busy", base, changed, &run_profile::gpu_busy_ns, options);
    add_figure(out, "CPU", base, changed, &run_profile::host_ns, options);
    add_figure(out, "memory peak", base, changed, &run_profile::peak_bytes, options);
    if (out.has_steps) {
        add_figure(out, "memory peak, median step", base, changed, &run_profile::median_peak_bytes, options);
    }
    add_memory(out, base, changed);
    for (const bool are_new : {false, true}) {
        const std::vector<compared_run> runs = figures_of_runs(are_new ? changed : base, are_new);
        out.runs.insert(out.runs.end(), runs.begin(), runs.end());
    }
    out.parts = make_waterfall(base, changed);
    out.ranges = compared(base, changed, &run_profile::ranges, false);
    out.kernels = compared(base, changed, &run_profile::kernels, true);
    const auto both_have = [&](bool run_profile::*what) { return any_has(base, what) && any_has(changed, what); };
    if (both_have(&run_profile::has_modules)) {
        out.modules = compared(base, changed, &run_profile::modules, false);
    } else if (any_has(base, &run_profile::has_modules) || any_has(changed, &run_profile::has_modules)) {
        out.notes.emplace_back("modules are not compared: only one side has them (--modules)");
    }
    if (both_have(&run_profile::has_lines)) {
        out.lines = compared(base, changed, &run_profile::lines, false);
    } else {
        out.notes.emplace_back("lines of the program are not compared: they are not known on both sides");
    }
    if (both_have(&run_profile::is_diagnosed)) {
        out.findings = compared_findings(base, changed);
    } else {
        out.notes.emplace_back("findings are not compared: not both sides could be examined");
    }
    return out;
}

}  // namespace prof
