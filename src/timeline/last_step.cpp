// SPDX-License-Identifier: Apache-2.0
#include "timeline/last_step.hpp"

#include <algorithm>
#include <vector>

#include "record/label.hpp"
#include "timeline/start_end.hpp"
#include "timeline/windows.hpp"

namespace prof {
namespace {

constexpr std::int64_t no_end = INT64_MIN;

class last_step {
public:
    explicit last_step(timeline& data) : data_(data) {}

    void end() {
        find_steps();
        if (step_ == npos) return;
        const std::int64_t end_ns = end_of_work();
        timeline_range& step = data_.ranges[step_];
        if (end_ns == no_end || (step.end_ns != never_ended && step.end_ns <= end_ns)) return;
        step.end_ns = end_ns;
        step.open_at_end = false;
        take_out_ranges(end_ns);
        take_out_nodes(end_ns);
    }

private:
    bool is_phase(const timeline_range& range) const {
        return range.style == range_style::push_pop && range.domain < data_.domains.size() &&
               data_.domains[range.domain].name == phase_domain;
    }

    // The steps are those of one thread, the first that has any.
    void find_steps() {
        for (const range_id i : data_.ranges.ids()) {
            const timeline_range& range = data_.ranges[i];
            if (!is_phase(range) || data_.name(range.name) != "step") continue;
            if (thread_ == npos) thread_ = range.thread;
            if (range.thread == thread_) steps_.push_back(i);
        }
        if (steps_.empty()) return;
        const timeline_range& latest = data_.ranges[steps_.back()];
        const bool is_in_last_window =
            data_.windows.empty() || window_at(data_.windows, latest.start_ns) + 1 == data_.windows.size();
        if (is_in_last_window && latest.category != annotation_witness) step_ = steps_.back();
    }

    // Of each step, where the last phase in it has ended, or the range directly inside the step around the phase;
    // no_end: it has no phase, or one that goes on until the program ends.
    std::vector<std::int64_t> ends_of_phases() const {
        constexpr auto none = static_cast<std::uint32_t>(npos);
        const range_id first = steps_.front();
        std::vector<std::uint32_t> step_of(data_.ranges.size() - first, none);  // of each range from `first` on
        std::vector<range_id> outermost(data_.ranges.size() - first);           // the range around it inside the step
        std::vector<std::int64_t> ends(steps_.size(), no_end);
        std::vector<bool> is_cut(steps_.size());
        std::uint32_t steps = 0;
        for (range_id i = first; i < data_.ranges.size(); ++i) {
            if (steps < steps_.size() && steps_[steps] == i) {
                step_of[i - first] = steps++;
                continue;
            }
            const timeline_range& range = data_.ranges[i];
            if (range.thread != thread_ || range.parent == npos || range.parent < first) continue;
            const std::uint32_t step = step_of[range.parent - first];
            if (step == none || !range.takes_part()) continue;
            step_of[i - first] = step;
            outermost[i - first] = range.parent == steps_[step] ? i : outermost[range.parent - first];
            if (!is_phase(range)) continue;
            const std::int64_t end_ns = data_.ranges[outermost[i - first]].end_ns;
            is_cut[step] = is_cut[step] || end_ns == never_ended;
            ends[step] = std::max(ends[step], end_ns);
        }
        for (std::size_t i = 0; i < ends.size(); ++i) {
            if (is_cut[i]) ends[i] = no_end;
        }
        return ends;
    }

    // How long a step goes on after its last phase: the median of the steps before the last one, 0 if there is none.
    std::int64_t usual_rest(const std::vector<std::int64_t>& ends) const {
        std::vector<std::int64_t> rests_ns;
        for (std::size_t i = 0; i + 1 < steps_.size(); ++i) {
            const std::int64_t step_end_ns = data_.ranges[steps_[i]].end_ns;
            if (ends[i] != no_end && step_end_ns >= ends[i]) rests_ns.push_back(step_end_ns - ends[i]);
        }
        if (rests_ns.empty()) return 0;
        const auto middle = rests_ns.begin() + static_cast<std::ptrdiff_t>((rests_ns.size() - 1) / 2);
        std::nth_element(rests_ns.begin(), middle, rests_ns.end());
        return *middle;
    }

    // Where the last step's work ends; no_end if that cannot be said.
    std::int64_t end_of_work() const {
        const std::vector<std::int64_t> ends = ends_of_phases();
        std::int64_t end_ns = ends.back();
        if (end_ns == no_end) return no_end;
        const std::int64_t latest_start_ns = end_ns + usual_rest(ends);
        const auto begins_in_step = [&](std::int64_t start_ns) { return start_ns < std::max(end_ns, latest_start_ns); };
        const auto call_after =
            std::lower_bound(data_.api_calls.begin(), data_.api_calls.end(), end_ns,
                             [](const timeline_api_call& call, std::int64_t at_ns) { return call.start_ns < at_ns; });
        for (auto call = call_after; call != data_.api_calls.end() && begins_in_step(call->start_ns); ++call) {
            if (call->thread == thread_) end_ns = std::max({end_ns, call->start_ns, call->end_ns});
        }
        for (range_id i(step_ + 1); i < data_.ranges.size(); ++i) {
            const timeline_range& range = data_.ranges[i];
            if (!begins_in_step(range.start_ns)) break;
            if (range.parent != step_ || !range.takes_part()) continue;
            if (range.end_ns == never_ended) return no_end;
            end_ns = std::max(end_ns, range.end_ns);
        }
        return end_ns;
    }

    bool has_ended(range_id range, std::int64_t at_ns) const {
        return data_.ranges[range].end_ns != never_ended && data_.ranges[range].end_ns <= at_ns;
    }

    // What was opened after the step's end lies in what is around the step.
    void take_out_ranges(std::int64_t end_ns) {
        for (range_id i(step_ + 1); i < data_.ranges.size(); ++i) {
            timeline_range& range = data_.ranges[i];
            if (range.thread != thread_ || range.start_ns < end_ns) continue;
            if (range.parent == step_) {
                do {
                    range.parent = data_.ranges[range.parent].parent;
                } while (range.parent != npos && has_ended(range.parent, range.start_ns));
            }
            range.depth = range.parent == npos ? 0 : data_.ranges[range.parent].depth + 1;
        }
    }

    // The node itself, or what was open around the step if it is the step's.
    open_node_id without_step(open_node_id node) const {
        const bool is_step = node != npos && data_.open_nodes[node].range == step_;
        return is_step ? data_.open_nodes[node].below : node;
    }
    open_node_id without_step_on_thread(open_node_id node) const {
        const bool is_step = node != npos && data_.open_nodes[node].range == step_;
        return is_step ? data_.open_nodes[node].below_on_thread() : node;
    }

    void take_out_nodes(std::int64_t end_ns) {
        for (open_node& node : data_.open_nodes) {
            const timeline_range& range = data_.ranges[node.range];
            if (range.thread != thread_ || range.start_ns < end_ns) continue;
            if (node.below == npos) {
                node.aside = without_step_on_thread(node.aside);
            } else if (data_.open_nodes[node.below].range == step_) {
                const open_node& of_step = data_.open_nodes[node.below];
                node.aside = of_step.aside;
                node.below = of_step.below;
            }
        }
        for (timeline_api_call& call : data_.api_calls) {
            if (call.thread != thread_ || call.start_ns < end_ns) continue;
            call.open = without_step(call.open);
            call.open_on_thread = without_step_on_thread(call.open_on_thread);
        }
        for (timeline_graph_node& node : data_.graph_nodes) {
            if (node.thread == thread_ && node.created_ns >= end_ns) node.open = without_step(node.open);
        }
        for (work_parent& parent : data_.work_parents) {
            if (parent.thread == thread_ && parent.time_ns >= end_ns) parent.open = without_step(parent.open);
        }
    }

    timeline& data_;
    std::vector<range_id> steps_;
    thread_id thread_ = npos;
    range_id step_ = npos;
};

}  // namespace

void end_last_step(timeline& data) { last_step(data).end(); }

}  // namespace prof
