// SPDX-License-Identifier: Apache-2.0
#include "diagnose/diagnosis.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <optional>
#include <span>
#include <type_traits>
#include <utility>

#include "analysis/reports/capture_notes.hpp"
#include "analysis/reports/module_finder.hpp"
#include "analysis/reports/module_texts.hpp"
#include "base/display_text.hpp"
#include "base/statistics.hpp"
#include "diagnose/examined_steps.hpp"
#include "diagnose/finding_modules.hpp"
#include "diagnose/gain_limit.hpp"
#include "diagnose/path_shares.hpp"
#include "diagnose/recording_cost.hpp"
#include "diagnose/replay/replay.hpp"
#include "diagnose/rules/rule.hpp"
#include "diagnose/step_gains.hpp"
#include "diagnose/uneven_steps.hpp"
#include "diagnose/used_frameworks.hpp"

namespace prof {
namespace {

constexpr std::size_t most_places = 6;    // of one rule that are replayed one by one
constexpr std::size_t most_parts = 5;     // of a finding
constexpr std::size_t longest_name = 60;  // in a title, in cells
constexpr double least_recording = 0.02;  // of a step: recording that makes it so much longer is worth a remark
// The places of a rule are findings of their own if their prices add up to this share of the price of all of them:
// else each alone would gain little, since another holds the steps up then.
constexpr double least_separate = 0.7;

std::string why_no_modules(const timeline& data, const frameworks& used) {
    if (used.has_torch) return fmt::format("modules were not recorded: {}", what_records_modules(data));
    return used.has_jax ? "no operation of XLA's has the name of a module (docs/guide/jax.md)" : "";
}

class diagnostician {
public:
    diagnostician(rule_input input, const attribution& att, diagnosis& out)
        : input_(std::move(input)), att_(att), out_(out) {
        input_.is_found = [this](std::string_view rule) {
            return std::any_of(found_.begin(), found_.end(), [&](const priced& each) { return each.of.rule == rule; });
        };
    }

    void run() {
        out_.replayed_ns = replayed_ns(input_.graph, {}, &steps_ns_);
        out_.step_ns = out_.per_step(out_.wall_ns);
        const std::vector<std::int64_t> lengths_ns = lengths_of(input_.graph.steps());
        const double usual_ns = lengths_ns.size() < least_uneven_steps ? out_.step_ns : median(lengths_ns);
        out_.least_ns = out_.least_share * std::min(out_.step_ns, usual_ns);
        if (!knows_waits(input_.data)) limit_.emplace(input_.graph, out_.replayed_ns);
        for (const rule& each : all_rules()) ask(each);
        std::stable_sort(found_.begin(), found_.end(),
                         [](const priced& a, const priced& b) { return a.of.gain_ns > b.of.gain_ns; });
        replay_changes all;
        std::optional<module_texts> modules;
        if (!found_.empty()) modules.emplace(input_.data, att_);
        for (priced& each : found_) {
            each.of.modules = modules_of(each.changes, input_.graph, *modules);
            all.add(each.changes);
            out_.findings.push_back(std::move(each.of));
        }
        all.normalize();
        changed_steps_ns_ = steps_ns_;
        if (!all.is_empty()) out_.together_ns = gain_of(all, &changed_steps_ns_).total_ns;
    }

    // After run(): the lengths of the steps without all that was found.
    std::vector<std::int64_t> changed_lengths() const {
        std::vector<std::int64_t> out = lengths_of(input_.graph.steps());
        if (steps_ns_.size() != out.size() || changed_steps_ns_.size() != out.size()) return out;
        for (std::size_t i = 0; i < out.size(); ++i) {
            out[i] = std::max<std::int64_t>(out[i] - (steps_ns_[i] - changed_steps_ns_[i]), 0);
        }
        return out;
    }

private:
    struct priced {
        finding of;
        replay_changes changes;
    };

    void ask(const rule& asked) {
        if (const std::string why = why_not(asked); !why.empty()) {
            out_.not_looked.push_back(fmt::format("{}: {}", asked.name, why));
            return;
        }
        std::vector<suspect> suspects = asked.suspects(input_);
        std::erase_if(suspects, [](const suspect& each) { return each.changes.is_empty(); });
        std::stable_sort(suspects.begin(), suspects.end(),
                         [](const suspect& a, const suspect& b) { return a.tally.total_ns > b.tally.total_ns; });
        merge_alike(suspects);
        const std::size_t before = found_.size();
        price(asked, suspects);
        if (found_.size() == before) out_.looked.emplace_back(asked.name);
    }

    // Of one text: one place.
    static void merge_alike(std::vector<suspect>& suspects) {
        std::vector<suspect> out;
        for (suspect& each : suspects) {
            const auto same =
                std::find_if(out.begin(), out.end(), [&](const suspect& other) { return other.what == each.what; });
            if (same == out.end()) {
                out.push_back(std::move(each));
                continue;
            }
            same->tally.add(each.tally);
            same->changes.add(each.changes);
            same->changes.normalize();
        }
        suspects = std::move(out);
    }

    std::string why_not(const rule& asked) const {
        std::string missing;
        for (std::size_t i = 0; i < activity_names.size(); ++i) {
            const auto each = static_cast<activity>(i);
            const bool is_call = each == activity::copies || each == activity::waits || each == activity::allocations;
            const bool is_needed = each == asked.needs || (asked.needs_all_calls && is_call);
            if (!is_needed || input_.data.activities.has(each)) continue;
            missing += missing.empty() ? "" : ", ";
            missing += activity_names[i];
        }
        return missing.empty() ? "" : missing + " were not recorded (option activities)";
    }

    struct gain {
        std::int64_t total_ns = 0;
        std::int64_t usual_ns = 0;  // if a few steps that gain far more than the others gained as much as these
        bool recurs = true;         // it matters beside the steps around the one that gains most, too
    };

    // Of what there is in many steps, only uneven_steps can say what a few of them have more.
    std::int64_t price_of(const rule& asked, const gain& of, std::uint64_t steps) const noexcept {
        const bool is_rare = steps >= 2 && steps <= few_of(out_.steps) && of.recurs;
        return is_rare || asked.explains_any_step ? of.total_ns : of.usual_ns;
    }

    void price(const rule& asked, const std::vector<suspect>& suspects) {
        if (suspects.empty() || !may_matter(suspects)) return;
        replay_changes all = changes_of(suspects);
        const gain of_all = gain_of(all);
        if (!matters(of_all.total_ns)) return;
        if (suspects.size() > 1 && !asked.is_one_cause && add_each(asked, suspects, of_all)) return;
        add(asked, suspects, of_all, std::move(all));
    }

    // The places as findings of their own, if each gains something without the others; those beyond most_places as one.
    bool add_each(const rule& asked, std::span<const suspect> suspects, const gain& of_all) {
        const std::span<const suspect> first = suspects.first(std::min(suspects.size(), most_places));
        const std::span<const suspect> others = suspects.subspan(first.size());
        const gain of_first = others.empty() ? of_all : gain_of(changes_of(first));
        std::vector<gain> alone;
        std::int64_t sum_ns = 0;
        for (const suspect& each : first) {
            alone.push_back(gain_of(each.changes));
            sum_ns += price_of(asked, alone.back(), each.tally.steps);
        }
        const std::int64_t price_ns = price_of(asked, of_first, tally_of(first).steps);
        if (static_cast<double>(sum_ns) < least_separate * static_cast<double>(price_ns)) return false;
        bool is_any = false;
        for (std::size_t i = 0; i < first.size(); ++i) {
            is_any |= add(asked, first.subspan(i, 1), alone[i], first[i].changes);
        }
        if (is_any && !others.empty()) {
            replay_changes of_others = changes_of(others);
            const gain gained = gain_of(of_others);
            add(asked, others, gained, std::move(of_others));
        }
        return is_any;
    }

    static replay_changes changes_of(std::span<const suspect> suspects) {
        replay_changes out;
        for (const suspect& each : suspects) out.add(each.changes);
        out.normalize();
        return out;
    }

    static step_tally tally_of(std::span<const suspect> suspects) {
        step_tally out;
        for (const suspect& each : suspects) out.add(each.tally);
        return out;
    }

    // Less time than that cannot gain enough.
    bool may_matter(const std::vector<suspect>& suspects) const {
        std::int64_t total_ns = 0;
        for (const suspect& each : suspects) total_ns += each.tally.total_ns;
        return out_.per_step(2 * total_ns) >= out_.least_ns;
    }
    bool matters(std::int64_t gain_ns) const noexcept { return gain_ns > 0 && out_.per_step(gain_ns) >= out_.least_ns; }

    gain gain_of(const replay_changes& changes, std::vector<std::int64_t>* changed_steps_ns = nullptr) const {
        std::vector<std::int64_t> steps_ns;
        gain out;
        out.total_ns = out_.replayed_ns - replayed_ns(input_.graph, changes, &steps_ns);
        if (changed_steps_ns != nullptr) *changed_steps_ns = steps_ns;
        out.usual_ns = out.total_ns;
        if (steps_ns.size() >= least_uneven_steps && steps_ns.size() == steps_ns_.size()) {
            for (std::size_t i = 0; i < steps_ns.size(); ++i) steps_ns[i] = steps_ns_[i] - steps_ns[i];
            const rare_gains rare = find_rare_gains(std::move(steps_ns));
            out.usual_ns -= rare.excess_ns;
            const std::int64_t others_ns = out.total_ns - rare.largest_ns;
            out.recurs = 4 * others_ns >= rare.largest_ns && out_.per_step(2 * others_ns) >= out_.least_ns;
        }
        const std::int64_t beside_ns = longest_beside(input_.data, changes);
        // No more than the steps take, of which it is a share.
        std::int64_t most_ns = std::max<std::int64_t>(std::min(out_.replayed_ns, out_.wall_ns) - beside_ns, 0);
        if (limit_) most_ns = std::min(most_ns, limit_->of(changes));
        out.total_ns = std::min(out.total_ns, most_ns);
        out.usual_ns = std::min(out.usual_ns, most_ns);
        return out;
    }

    // If it matters.
    bool add(const rule& asked, std::span<const suspect> suspects, const gain& gained, replay_changes changes) {
        finding of;
        const step_tally tally = tally_of(suspects);
        of.gain_ns = price_of(asked, gained, tally.steps);
        if (!matters(of.gain_ns)) return false;
        of.rule = asked.name;
        of.title = title_of(asked, suspects);
        of.trust = asked.trust;
        of.bound = asked.bound;
        of.advice = advice_of(asked, input_);
        for (const suspect& each : suspects) {
            if (of.parts.size() == most_parts) break;
            of.parts.push_back(
                {each.what, each.tally.total_ns, each.tally.count, each.tally.longest_ns, each.tally.longest_at_ns});
        }
        of.cost_ns = tally.total_ns;
        of.steps = std::min(tally.steps, out_.steps);
        if (!matters(gained.usual_ns)) of.steps = std::min<std::uint64_t>(of.steps, few_of(out_.steps));
        found_.push_back({std::move(of), std::move(changes)});
        return true;
    }

    // "the host runs other code, in forward", "the host waits for the GPU: cudaStreamSynchronize, in forward and 2
    // more".
    static std::string title_of(const rule& asked, std::span<const suspect> suspects) {
        const std::string what = shortened(suspects.front().what, longest_name);
        const bool is_place = what.starts_with("in ") || what.starts_with("outside ");
        std::string out = fmt::format("{}{} {}", asked.title, is_place ? "," : ":", what);
        if (suspects.size() > 1) out += fmt::format(" and {} more", suspects.size() - 1);
        return out;
    }

    rule_input input_;
    const attribution& att_;
    diagnosis& out_;
    std::vector<priced> found_;
    std::vector<std::int64_t> steps_ns_;  // by the replay, without changes
    std::vector<std::int64_t> changed_steps_ns_;
    std::optional<gain_limit> limit_;
};

// What steps that are longer than the others still exceed the median by when all that was found is gone.
std::int64_t excess_of_uneven(const std::vector<std::int64_t>& lengths_ns,
                              const std::vector<std::int64_t>& changed_ns) {
    if (lengths_ns.empty() || changed_ns.size() != lengths_ns.size()) return 0;
    const double longest = longest_usual(lengths_ns, uneven_factor);
    const auto middle_ns = static_cast<std::int64_t>(std::min(median(changed_ns), 1e18));
    std::int64_t out = 0;
    for (std::size_t i = 0; i < lengths_ns.size(); ++i) {
        if (static_cast<double>(lengths_ns[i]) > longest) out += std::max<std::int64_t>(changed_ns[i] - middle_ns, 0);
    }
    return out;
}

// `excess_ns`: what it gains beside all other findings.
void add_uneven(std::optional<finding> uneven, std::int64_t excess_ns, diagnosis& out) {
    if (!uneven || out.per_step(uneven->gain_ns) < out.least_ns) {
        out.looked.emplace_back(uneven_steps_name);
        return;
    }
    const auto behind = std::find_if(out.findings.begin(), out.findings.end(),
                                     [&](const finding& each) { return each.gain_ns < uneven->gain_ns; });
    out.findings.insert(behind, std::move(*uneven));
    out.together_ns = std::min(out.together_ns + excess_ns, out.wall_ns);
}

// How long the GPU was behind the host at the edges of the steps, which is no time of theirs.
std::int64_t behind_at_edges(const dependency_graph& graph) {
    std::int64_t out = 0;
    for (const step_run& run : graph.runs()) {
        std::int64_t until_ns = run.end_ns;
        if (run.last_op != npos) until_ns = std::max(until_ns, graph.data().ops[run.last_op].end_ns);
        out += std::max({run.busy_before_ns - run.start_ns, until_ns - run.end_ns, std::int64_t{0}});
    }
    return out;
}

// By the steps that were not recorded, if there are such and they are shorter; else by the replay.
void add_remark_on_recording(const examined_steps& examined, diagnosis& out) {
    constexpr std::string_view consequence = "a program that is not recorded gains so much less";
    const double recorded_ns = out.per_step(out.wall_ns);
    const double unrecorded_ns =
        examined.steps.source == step_source::counted ? unrecorded_step_ns(examined.graph.data()) : 0;
    if (out.has_steps && unrecorded_ns > 0 && recorded_ns - unrecorded_ns > least_recording * recorded_ns) {
        out.remarks.push_back(
            fmt::format("recording makes these steps {:.2g} ms ({:.2g} %) longer, or more: those between the windows "
                        "take {:.3g} ms; {}",
                        (recorded_ns - unrecorded_ns) / 1e6, 100 * (1 - unrecorded_ns / recorded_ns),
                        unrecorded_ns / 1e6, consequence));
        return;
    }
    const recording_cost cost = cost_of_recording(examined.graph, out.replayed_ns);
    const double share = out.share_of(cost.longer_ns);
    if (share < least_recording) return;
    out.remarks.push_back(fmt::format(
        "recording makes these steps {:.2g} ms ({:.2g} %) longer, or more: it adds at least {:.1f} us to a launch, of "
        "which a step has {:.0f}; {}",
        out.per_step(cost.longer_ns) / 1e6, 100 * share, static_cast<double>(recorded_launch_ns) / 1e3,
        out.per_step(static_cast<std::int64_t>(cost.launches)), consequence));
}

// What limits the trust in the prices, such as warm-up that may be mistaken for work. `are_chosen`: the steps are those
// that somebody asked for.
void add_remarks(const whole_steps& steps, bool are_chosen, diagnosis& out) {
    const bool has_first = out.has_steps && steps.steps.front().is_first;
    if (are_chosen && has_first) {
        out.remarks.emplace_back("the program's first step is among them: it includes warm-up");
    } else if (has_first && steps.steps.size() == 1) {
        out.remarks.emplace_back(
            "the program's first step alone is whole: it includes warm-up (loading, compiling, allocating); record "
            "more");
    } else if (are_chosen) {
        if (out.steps < 5) {
            out.remarks.emplace_back(
                "prices of waits are too low in so few steps: after the last one nothing could begin sooner");
        }
    } else if (out.has_steps && out.steps < 5) {
        out.remarks.push_back(
            fmt::format("{} few: warm-up may be among them, and what differs between steps is not seen; record ten or "
                        "more",
                        out.steps == 1 ? "1 step is" : fmt::format("{} steps are", out.steps)));
    } else if (out.warm_up > out.steps) {
        out.remarks.push_back(fmt::format(
            "more steps are warm-up ({}) than are examined ({}): of the run that was recorded, most is warm-up",
            out.warm_up, out.steps));
    }
}

}  // namespace

std::string_view to_string(confidence value) noexcept {
    switch (value) {
        case confidence::low:
            return "low";
        case confidence::medium:
            return "medium";
        case confidence::high:
            break;
    }
    return "high";
}

std::vector<rule_description> diagnosis_rules() {
    std::vector<rule_description> out;
    for (const rule& each : all_rules()) out.push_back({each.name, each.purpose});
    out.push_back({uneven_steps_name, "steps that are longer than the others, for no reason found above"});
    return out;
}

namespace {

bool have_length(const std::vector<whole_step>& steps) noexcept {
    return std::any_of(steps.begin(), steps.end(), [](const whole_step& each) { return each.end_ns > each.start_ns; });
}

diagnosis without_length(const diagnosis_options& options) {
    diagnosis out;
    out.least_share = options.least_share;
    out.not_looked.emplace_back(
        "nothing could be examined: the steps have no length (do they all begin and end at one time?)");
    return out;
}

}  // namespace

diagnosis diagnose(const timeline& data, const attribution& att, const diagnosis_options& options) {
    diagnosis out;
    out.least_share = options.least_share;
    if (data.ops.empty()) {
        const std::string& missing = data.property("missing");
        const std::string_view why = !data.activities.has_gpu_work() ? "GPU work was not recorded (option activities)"
                                     : missing.empty()               ? "no GPU operation was recorded"
                                                                     : std::string_view(missing);
        out.not_looked.push_back(fmt::format("nothing could be examined: {}", why));
        return out;
    }
    if (data.api_calls.empty() || !data.activities.has(activity::launches)) {
        out.not_looked.emplace_back(
            "nothing could be examined: the calls that launch were not recorded (option activities, without "
            "no_launches)");
        return out;
    }
    examined_steps examined(data, att, options.step_function, options.steps);
    const dependency_graph& graph = examined.graph;
    out.has_steps = graph.has_steps();
    out.steps = graph.step_count();
    out.warm_up = examined.steps.warm_up;
    if (!out.has_steps) {
        out.not_looked.emplace_back(
            "steps: none were found, so that prices are of all that was recorded (docs/guide/phases.md, option "
            "step_range)");
    }
    for (const step_run& run : graph.runs()) out.wall_ns += run.end_ns - run.start_ns;
    if (out.has_steps) out.wall_ns = total_length(graph.steps());
    if (!have_length(graph.steps())) return without_length(options);
    const std::vector<host_group> host_groups = group_host_time(graph, examined.host, examined.where);
    const std::vector<gpu_group> gpu_groups = group_gpu_time(graph);
    const rule_input input{.data = data,
                           .graph = graph,
                           .where = examined.where,
                           .launching = examined.launching,
                           .host = host_groups,
                           .gpu = gpu_groups,
                           .used = frameworks_of(data, !options.step_function.empty()),
                           .call_name = options.call_name};
    diagnostician of(input, att, out);
    of.run();
    if (!options.is_sample) {
        const std::int64_t excess_ns = excess_of_uneven(lengths_of(graph.steps()), of.changed_lengths());
        add_uneven(find_uneven_steps(data, att, examined.steps, out.findings), excess_ns, out);
    }
    const bool are_chosen = options.steps != nullptr && !options.is_sample;
    add_remarks(examined.steps, are_chosen, out);
    if (!options.is_sample) add_remark_on_recording(examined, out);
    const bool depends_on_edges = are_chosen && 10 * behind_at_edges(graph) > out.wall_ns;
    if (depends_on_edges) {
        out.remarks.emplace_back(
            "the host was so far ahead of the GPU at the edges of these steps that prices depend on it; choose more");
    }
    if (depends_on_edges || is_clock_off(data)) {
        for (finding& each : out.findings) each.trust = confidence::low;
    }
    share_path(examined, att, out);
    if (!out.path_has_modules) out.no_modules = why_no_modules(data, input.used);
    if (!out.has_steps) out.wall_ns = out.path_ns;
    return out;
}

void extend_to_all(diagnosis& of, const std::vector<whole_step>& all) {
    if (of.steps == 0) return;
    const double factor = static_cast<double>(all.size()) / static_cast<double>(of.steps);
    const auto extend = [factor](auto& value) {
        const double extended = std::round(std::min(static_cast<double>(value) * factor, 9e18));
        value = static_cast<std::remove_reference_t<decltype(value)>>(extended);
    };
    for (std::int64_t* const each : {&of.replayed_ns, &of.together_ns, &of.path_ns, &of.unexplained_ns}) extend(*each);
    for (finding& each : of.findings) {
        extend(each.cost_ns);
        extend(each.gain_ns);
        extend(each.steps);
        for (finding_part& part : each.parts) {
            extend(part.cost_ns);
            extend(part.count);
        }
    }
    for (path_share& each : of.path) extend(each.total_ns);
    of.steps = all.size();
    of.wall_ns = total_length(all);
    of.step_ns = of.per_step(of.wall_ns);
    std::optional<finding> uneven = price_uneven_steps(lengths_of(all), of.findings);
    const std::int64_t gain_ns = uneven ? uneven->gain_ns : 0;
    of.replayed_ns += gain_ns;  // the sample is without these steps
    add_uneven(std::move(uneven), gain_ns, of);
}

}  // namespace prof
