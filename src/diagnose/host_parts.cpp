// SPDX-License-Identifier: Apache-2.0
#include "diagnose/host_parts.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <tuple>
#include <unordered_map>

#include "analysis/projection/compilation_stages.hpp"
#include "analysis/projection/segment.hpp"
#include "analysis/steps/step_parts.hpp"
#include "analysis/steps/step_search.hpp"
#include "base/near_search.hpp"
#include "record/label.hpp"

namespace prof {
namespace {

constexpr std::string_view data_phase = "data";
// In a program without phases, what is in none of its ranges is code beside the work only if the ranges have most of
// it.
constexpr double most_outside_ranges = 0.5;
constexpr double least_around_steps = 0.98;  // of the steps: a range is all of them

}  // namespace

bool uses_no_gpu(const timeline& data) noexcept {
    return data.ops.empty() && data.api_calls.empty() && data.activities.has_gpu_work() &&
           data.activities.has(activity::launches) && data.property("missing").empty();
}

frameworks frameworks_without_gpu(const timeline& data, const whole_steps& steps) {
    frameworks out{.has_torch = !data.torch_nodes.empty() || steps.source == step_source::profiler};
    // Others' phases are marked by the program (annotation_witness).
    out.has_torch |=
        steps.source == step_source::observed && (steps.witness == optimizer_witness || steps.witness == call_witness);
    for (const timeline_range& range : data.ranges) {
        if (!is_phase(data, range)) continue;
        const std::string_view name = data.name(range.name);
        // Only hooks/torch observes these; a compiler's function is one of PyTorch's or a stage of JAX's.
        out.has_torch |= name == startup_phase;
        const bool is_compiled = range.parent != npos && is_phase(data, data.ranges[range.parent]) &&
                                 data.name(data.ranges[range.parent].name) == compilation_phase;
        if (!is_compiled) continue;
        (read_compilation_stage(data, range) ? out.has_jax : out.has_torch) = true;
    }
    return out;
}

host_parts::host_parts(const timeline& data, const attribution& att, const host_activity& host, code_places& where,
                       const whole_steps& steps)
    : data_(data), att_(att), host_(host), where_(where), steps_(steps), uses_(data.ranges.size()) {
    if (steps.thread == npos) return;
    find_phases();
    if (!has_phases()) find_ranges_around_steps();
}

host_parts::role host_parts::role_of(std::string_view name) noexcept {
    if (name == "forward" || name == "evaluation") return role::forward;
    if (name == "backward") return role::backward;
    if (name == "optimizer") return role::optimizer;
    // These may stand between a forward, its loss and the backward.
    if (name == "zero_grad" || name == "clip_grad" || name == "loss_scaling" || name == compilation_phase) {
        return role::between;
    }
    return role::other;
}

bool host_parts::is_phase_of_step(const timeline_range& range) const {
    if (range.style != range_style::push_pop || !is_phase(data_, range) || att_.hidden.contains(range)) return false;
    const std::string_view name = data_.name(range.name);
    return name != step_phase && name != startup_phase;
}

void host_parts::find_phases() {
    step_search step_at(steps_.steps);
    for (const timeline_range& range : data_.ranges) {
        if (range.thread != steps_.thread || !is_phase_of_step(range)) continue;
        if (step_at.at(range.start_ns) == npos) continue;
        // Ranges stand in the order in which they begin, on each thread.
        if (!phases_.empty() && range.start_ns < phases_.back().end_ns) continue;
        phases_.push_back({range.start_ns, range.inside_until_ns(), range.name, role_of(data_.name(range.name))});
    }
    // A compiler may run in programs that have no other phases.
    const bool has_others = std::any_of(phases_.begin(), phases_.end(),
                                        [&](const phase& each) { return data_.name(each.name) != compilation_phase; });
    if (!has_others) phases_.clear();
}

// Such as the range of an iteration where steps are known from something else. It has others in it.
void host_parts::find_ranges_around_steps() {
    if (steps_.source == step_source::recurring || !data_.property("step_range").empty()) return;
    std::vector<std::int64_t> before_ns{0};  // by step: the length of those before it
    for (const whole_step& step : steps_.steps) before_ns.push_back(before_ns.back() + step.end_ns - step.start_ns);
    step_search step_at(steps_.steps);
    // How much of the steps lies before a moment.
    const auto until = [&](std::int64_t ns) {
        const std::size_t begun = step_at.begun(ns);
        if (begun == 0) return std::int64_t{0};
        const whole_step& step = steps_.steps[begun - 1];
        return before_ns[begun - 1] + std::min(ns, step.end_ns) - step.start_ns;
    };
    std::unordered_map<code_place_id, std::int64_t> times_ns;  // by place; of the outermost range of the place
    std::unordered_map<code_place_id, std::uint64_t> counts;
    std::unordered_map<code_place_id, std::uint64_t> inside;  // of other places, directly inside
    for (const range_id i : data_.ranges.ids()) {
        const timeline_range& range = data_.ranges[i];
        const bool takes_part = range.style == range_style::push_pop && range.takes_part();
        if (range.thread != steps_.thread || !takes_part || att_.hidden.contains(range)) continue;
        const code_place_id place = where_.of(i);
        const code_place_id above = range.parent == npos ? code_place_id() : where_.of(range.parent);
        if (place == 0 || above == place) continue;
        ++inside[above];
        ++counts[place];
        times_ns[place] += until(range.inside_until_ns()) - until(range.start_ns);
    }
    const std::int64_t all_ns = before_ns.back();
    for (const auto& [place, ns] : times_ns) {
        const bool is_around = inside[place] >= steps_.steps.size() &&
                               static_cast<double>(ns) >= least_around_steps * static_cast<double>(all_ns);
        // Before and after the steps that count there are further ones.
        if (is_around && counts[place] <= 2 * steps_.steps.size() + 2) around_steps_.insert(place);
    }
}

// Whether the range alone says what all within it is.
bool host_parts::says_what_is_inside(const timeline_range& range) const {
    return has_phases() ? is_phase_of_step(range) : data_.name(range.name) == data_phase;
}

host_parts::known_use host_parts::use_of(range_id range) {
    range_id at = range;
    while (at != npos && uses_[at] == known_use::unknown && !says_what_is_inside(data_.ranges[at])) {
        at = data_.ranges[at].parent;
    }
    known_use found = known_use::outside;
    if (at != npos) {
        found = uses_[at];
        if (found == known_use::unknown) {
            found = data_.name(data_.ranges[at].name) == data_phase ? known_use::loader : known_use::phase;
            uses_[at] = found;
        }
    }
    for (range_id below = range; below != at; below = data_.ranges[below].parent) uses_[below] = found;
    return found;
}

host_part host_parts::part_at(std::int64_t start_ns, std::int64_t end_ns, range_id range, std::int64_t step_start_ns,
                              std::int64_t step_end_ns) {
    host_part out{.start_ns = start_ns, .end_ns = end_ns, .use = host_use::outside};
    known_use use = known_use::outside;
    if (range != npos) {
        out.place = where_.of(range);
        use = use_of(range);
    }
    if (where_.kind(out.place) == place_kind::compiler) {
        out.use = host_use::compiling;
    } else if (where_.kind(out.place) == place_kind::loader || use == known_use::loader) {
        out.use = host_use::loader;
        out.place = where_.outermost(out.place);
    } else if (use == known_use::phase) {
        out.use = host_use::work;
    } else if (!has_phases() && out.place != 0) {
        if (around_steps_.contains(out.place)) {
            out.place = {};
        } else {
            out.use = host_use::work;
        }
    }
    if (out.use != host_use::outside || out.place != 0 || !has_phases()) return out;
    latest_ =
        partition_point_near(phases_.size(), latest_, [&](std::size_t at) { return phases_[at].start_ns <= start_ns; });
    if (leads_to_backward(latest_, step_start_ns, step_end_ns)) {
        out.use = host_use::work;
    } else if (latest_ > 0 && phases_[latest_ - 1].start_ns >= step_start_ns) {
        out.after = phases_[latest_ - 1].name;
    }
    return out;
}

// What lies between a forward and its backward is the loss. `next`: the phase that begins next.
bool host_parts::leads_to_backward(std::size_t next, std::int64_t step_start_ns, std::int64_t step_end_ns) const {
    std::size_t after = next;
    while (after < phases_.size() && phases_[after].is == role::between) ++after;
    if (after == phases_.size() || phases_[after].is != role::backward || phases_[after].start_ns >= step_end_ns) {
        return false;
    }
    std::size_t before = next;
    while (before > 0 && phases_[before - 1].is == role::between) --before;
    return before > 0 && phases_[before - 1].is == role::forward && phases_[before - 1].start_ns >= step_start_ns;
}

std::string host_parts::why_unknown(bool has_jax, double outside_share) const {
    if (has_jax) return "XLA computes in threads of its own, and the program may wait for it outside phases";
    if (!has_phases()) {
        if (outside_share <= most_outside_ranges) return {};
        return fmt::format(
            "{:.0f} % of the steps is in none of the program's ranges, and may be its work: ranges around the parts of "
            "a step would tell",
            100 * outside_share);
    }
    const auto has = [&](role wanted) {
        return std::any_of(phases_.begin(), phases_.end(), [&](const phase& each) { return each.is == wanted; });
    };
    constexpr std::string_view consequence = "so that code outside phases may be the step's work";
    if (!has(role::forward)) return fmt::format("no forward was recorded, {}", consequence);
    if (has(role::backward) && !has(role::optimizer)) {
        return fmt::format("no optimizer was recorded after backward, {}", consequence);
    }
    return {};
}

std::string host_parts::text(code_place_id place, name_id after) const {
    if (place != 0) return "in " + where_.path(place);
    if (!has_phases()) return "outside ranges";
    return after == 0 ? std::string("outside phases") : fmt::format("outside phases, after {}", data_.name(after));
}

std::string host_parts::text(const host_part& of) const {
    switch (of.use) {
        case host_use::loader:
            return "data loader";
        case host_use::compiling:
            return "compilation";
        case host_use::work:
            return of.place == 0 ? std::string("loss") : where_.path(where_.outermost(of.place));
        case host_use::outside:
            break;
    }
    return text(of.place, of.after);
}

std::vector<host_group> group_host_parts(const dependency_graph& graph, host_parts& parts) {
    const row_table<host_event>& events = graph.events();
    step_search step_at(graph.steps());
    std::map<std::tuple<idle_cause, code_place_id, name_id>, host_group> groups;
    for (const host_event_id i : events.ids()) {
        if (events[i].before == npos) continue;
        const std::int64_t from_ns = events[events[i].before].end_ns;
        const std::uint32_t step = step_at.at(from_ns);
        if (step == npos || from_ns >= events[i].start_ns) continue;
        parts.for_each(from_ns, events[i].start_ns, [&](const host_part& part) {
            if (part.use == host_use::work) return;
            const idle_cause cause = part.use == host_use::loader      ? idle_cause::loader
                                     : part.use == host_use::compiling ? idle_cause::compiling
                                                                       : idle_cause::host_code;
            host_group& group = groups[{cause, part.place, part.after}];
            group.cause = cause;
            group.place = part.place;
            group.after = part.after;
            const std::int64_t ns = part.end_ns - part.start_ns;
            group.tally.add(graph.first_step() + step, part.start_ns, ns);
            std::vector<event_change>& changes = group.changes.events;
            if (changes.empty() || changes.back().event != i) changes.push_back({.event = i});
            changes.back().gap_less_ns += ns;
        });
    }
    return sorted_groups(std::move(groups));
}

}  // namespace prof
