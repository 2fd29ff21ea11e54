// SPDX-License-Identifier: Apache-2.0
#include "analysis/selection/selected_part.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "analysis/projection/row_tree.hpp"
#include "analysis/projection/segment.hpp"
#include "analysis/selection/range_match.hpp"
#include "analysis/steps/captured_steps.hpp"
#include "base/display_text.hpp"
#include "timeline/launched_ops.hpp"

namespace prof {
namespace {

// When ranges were open on each thread.
class open_times {
public:
    // Of the ranges for which `counts` is true.
    template <typename TCounts>
    open_times(const timeline& data, TCounts&& counts) {
        row_values<thread_id, std::vector<time_span>> spans(data.threads.size());
        for (const range_id i : data.ranges.ids()) {
            const timeline_range& range = data.ranges[i];
            if (range.style != range_style::push_pop || !range.takes_part() || !counts(i)) continue;
            spans[range.thread].push_back({range.start_ns, range.inside_until_ns()});
        }
        for (std::vector<time_span>& of : spans) by_thread_.emplace_back(std::move(of));
    }
    bool contain(thread_id thread, std::int64_t ns) const {
        return thread < by_thread_.size() && by_thread_[thread].contains(ns);
    }

private:
    std::vector<time_spans> by_thread_;
};

}  // namespace

class selected_part::selector {
public:
    selector(const timeline& data, const attribution& att) : data_(data), att_(att) {
        kept_.ranges.assign(data.ranges.size(), 1);
        kept_.replayed.assign(att.replayed.size(), 1);
        kept_.calls.assign(data.api_calls.size(), 1);
        kept_.ops.assign(data.ops.size(), 1);
        kept_.marks.assign(data.marks.size(), 1);
    }

    void keep_ranges(const row_tree& tree, const matched_ranges& found) {
        kept_.ranges = found.kept;
        kept_.replayed = found.replayed_kept;
        for (const op_id i : data_.ops.ids()) kept_.ops[i] = counts(tree, found, i) ? 1 : 0;
        for (const call_id i : data_.api_calls.ids()) {
            kept_.calls[i] = counts(found, data_.api_calls[i]) ? 1 : 0;
        }
        keep_marks(found);
    }

    void keep_times(const time_spans& times) {
        for (const op_id i : data_.ops.ids()) {
            const gpu_op& op = data_.ops[i];
            drop_unless(kept_.ops[i],
                        times.contains(op.launch == npos ? op.start_ns : data_.api_calls[op.launch].start_ns));
        }
        for (const call_id i : data_.api_calls.ids()) {
            drop_unless(kept_.calls[i], times.contains(data_.api_calls[i].start_ns));
        }
        // A launch may lie in the nanosecond in which its range ends.
        row_values<range_id, std::uint8_t> has_work(data_.ranges.size(), 0);
        for (const op_id op : data_.ops.ids()) {
            if (kept_.ops[op] == 0) continue;
            for_each_open_range(data_, att_, op, [&](range_id range) { has_work[range] = 1; });
        }
        for (const range_id i : data_.ranges.ids()) {
            const timeline_range& range = data_.ranges[i];
            if (range.style == range_style::graph_context) continue;
            drop_unless(kept_.ranges[i], has_work[i] != 0 || times.cut(range.start_ns, range.end_ns).has_value());
        }
        for (const mark_id i : data_.marks.ids()) {
            drop_unless(kept_.marks[i], times.contains(data_.marks[i].time_ns));
        }
        for (const replayed_id i : att_.replayed.ids()) {
            drop_unless(kept_.replayed[i], times.contains(data_.api_calls[att_.replayed[i].launch].start_ns));
        }
    }

    std::uint64_t ops() const { return static_cast<std::uint64_t>(std::count(kept_.ops.begin(), kept_.ops.end(), 1)); }
    // A captured range exists only where work counts for it.
    kept_entities take() {
        row_values<replayed_id, std::uint8_t> has_work(att_.replayed.size(), 0);
        for (const op_id op : data_.ops.ids()) {
            if (kept_.ops[op] == 0) continue;
            for_each_replayed_range(att_, op, [&](replayed_id replayed) { has_work[replayed] = 1; });
        }
        for (const replayed_id i : has_work.ids()) drop_unless(kept_.replayed[i], has_work[i] != 0);
        return std::move(kept_);
    }

private:
    static void drop_unless(std::uint8_t& kept, bool is_inside) noexcept {
        if (!is_inside) kept = 0;
    }

    bool counts(const row_tree& tree, const matched_ranges& found, op_id op) const {
        bool out = false;
        for_each_open_range(data_, att_, op, [&](range_id range) { out = out || found.matches[range] != 0; });
        if (out) return true;
        for_each_replayed_range(att_, op,
                                [&](replayed_id replayed) { out = out || found.replayed_matches[replayed] != 0; });
        if (out) return true;
        const call_id launch = data_.ops[op].launch;
        if (launch != npos) {
            const timeline_api_call& call = data_.api_calls[launch];
            if (found.in_start_end(data_, call.thread, call.start_ns)) return true;
        }
        switch (tree.fixed_of(op)) {
            case row_tree::no_range:
                return found.no_range;
            case row_tree::ambiguous:
                return found.ambiguous;
            case row_tree::unmatched:
                return found.unmatched;
            default:
                return false;
        }
    }

    // A call counts where its work does; without work, for the ranges that are open on its thread.
    bool counts(const matched_ranges& found, const timeline_api_call& call) const {
        if (call.op_count != 0) {
            const auto ops = ops_of(data_, call);
            return std::any_of(ops.begin(), ops.end(), [&](op_id op) { return kept_.ops[op] != 0; });
        }
        bool in_range = false;
        for (open_node_id at = call.open_on_thread; at != npos; at = data_.open_nodes[at].below_on_thread()) {
            const range_id range = data_.open_nodes[at].range;
            if (found.matches[range] != 0) return true;
            in_range = in_range || !att_.hidden.contains(data_.ranges[range]);
        }
        return (!in_range && found.no_range) || found.in_start_end(data_, call.thread, call.start_ns);
    }

    // Beginnings of steps are always kept, so that times a step can be estimated.
    void keep_marks(const matched_ranges& found) {
        const open_times kept(data_, [&](range_id range) { return found.kept[range] != 0; });
        const open_times any(data_, [&](range_id range) { return !att_.hidden.contains(data_.ranges[range]); });
        for (const mark_id i : data_.marks.ids()) {
            const timeline_mark& mark = data_.marks[i];
            const bool is_inside = kept.contain(mark.thread, mark.time_ns) ||
                                   found.in_start_end(data_, mark.thread, mark.time_ns) ||
                                   (found.no_range && !any.contain(mark.thread, mark.time_ns));
            kept_.marks[i] = is_inside || begins_step(data_, mark) ? 1 : 0;
        }
    }

    const timeline& data_;
    const attribution& att_;
    kept_entities kept_;
};

namespace {

attribution_options with_operators(attribution_options options) {
    options.places_operators = true;
    return options;
}

// "steps 3 to 7 (5 of 12)"
std::string steps_text(const selection_facts& of) {
    if (of.steps.empty()) return "no whole step";
    const auto [first, last] = std::minmax_element(of.steps.begin(), of.steps.end());
    const std::string count = fmt::format(" ({} of {})", of.steps.size(), of.all_steps);
    return *first == *last ? fmt::format("step {}", *first) + count
                           : fmt::format("steps {} to {}", *first, *last) + count;
}

}  // namespace

std::string selection_choice(const selection_facts& of) {
    std::string out;
    const auto add = [&](const std::string& text) { out += (out.empty() ? "" : "; ") + text; };
    std::string patterns;
    for (const std::string& pattern : of.request.ranges) patterns += (patterns.empty() ? "" : ", ") + pattern;
    if (!patterns.empty()) add((of.request.ranges.size() == 1 ? "range " : "ranges ") + patterns);
    if (of.all_steps != 0) add(steps_text(of));
    if (!of.request.from.empty()) add("from " + of.request.from);
    if (!of.request.to.empty()) add("to " + of.request.to);
    return out;
}

std::string selection_line(const selection_facts& of) {
    std::string out = selection_choice(of);
    const auto add = [&](const std::string& text) { out += (out.empty() ? "" : "; ") + text; };
    if (!of.times.is_empty()) add(fmt::format("{:.3f} s", static_cast<double>(of.times.total_ns()) * 1e-9));
    add(fmt::format("{} of {} GPU operations", with_thousands(of.ops), with_thousands(of.all_ops)));
    return out;
}

selected_part::selected_part(const timeline& whole, const projection_options& options, bool with_phases)
    : recorded_(whole),
      shown_(with_phases ? shown_timeline(whole, options) : shown_timeline::as_it_is(whole)),
      whole_att_(attribute(shown_.data(), with_operators(options.attribution))),
      att_(whole_att_) {}

selected_part::selected_part(const timeline& whole, const projection_options& options, const selection_request& request,
                             bool with_phases)
    : selected_part(whole, options, with_phases) {
    facts_.request = request;
    const timeline& data = shown_.data();
    selector chosen(data, whole_att_);
    const row_tree tree(data, whole_att_, options.fold);
    keep_names(tree);
    if (has_ranges()) {
        matched_ranges found = match_ranges(data, whole_att_, tree, options.fold, request.ranges);
        if (!found.any()) throw nothing_selected(found.in_vain.front());
        chosen.keep_ranges(tree, found);
        facts_.ranges = found.count;
        facts_.in_vain = std::move(found.in_vain);
    }
    if (request.has_times()) {
        chosen_times times = choose_times(data, whole_att_, request);
        chosen.keep_times(times.times);
        facts_.times = std::move(times.times);
        facts_.all_steps = times.all_steps;
        scope_ = {facts_.times,
                  whole_steps_among(data, whole_att_, request, facts_.times, !shown_.step_function().empty())};
        if (facts_.all_steps != 0) {
            for (const whole_step& step : scope_.steps->steps) facts_.steps.push_back(step.number);
        }
    }
    finish(chosen, request.has_times());
}

selected_part::selected_part(const timeline& whole, const projection_options& options, const step_scope& of)
    : selected_part(whole, options, true) {
    const timeline& data = shown_.data();
    scope_.steps = steps_that_count(data, whole_att_, !shown_.step_function().empty(), of);
    if (scope_.steps->steps.empty()) return;
    std::vector<time_span> times;
    for (const whole_step& step : scope_.steps->steps) times.push_back({step.start_ns, step.end_ns});
    facts_.times = scope_.times = time_spans(std::move(times));
    selector chosen(data, whole_att_);
    keep_names(row_tree(data, whole_att_, options.fold));
    chosen.keep_times(facts_.times);
    finish(chosen, true);
}

// Names are folded as in the whole.
void selected_part::keep_names(const row_tree& tree) {
    att_.keeps_name = tree.keeps_name();
    att_.replayed_keeps_name = tree.replayed_keeps_name();
    att_.keeps_name.resize(shown_.data().ranges.size());
    att_.replayed_keeps_name.resize(whole_att_.replayed.size());
}

void selected_part::finish(selector& chosen, bool is_of_times) {
    facts_.ops = chosen.ops();
    facts_.all_ops = shown_.data().ops.size();
    kept_ = chosen.take();
    data_ = part_of(shown_.data(), att_, kept_, is_of_times ? &facts_.times : nullptr);
}

}  // namespace prof
