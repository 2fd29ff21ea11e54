// SPDX-License-Identifier: Apache-2.0
#include "analysis/modules/module_calls.hpp"

#include <algorithm>
#include <cstddef>
#include <string_view>
#include <tuple>

#include "analysis/modules/module_times.hpp"
#include "analysis/projection/segment.hpp"
#include "base/near_search.hpp"
#include "record/label.hpp"

namespace prof {
namespace {

constexpr std::string_view own_namespace = "torch::autograd::";

bool is_backward(const timeline& data, const timeline_range& range) {
    return is_phase(data, range) && data.name(range.name) == module_work_names[std::size_t(module_work::backward)];
}

// The innermost phase around a range on its thread; npos without one.
range_id phase_around(const timeline& data, const timeline_range& range) {
    for (range_id i = range.parent; i != npos; i = data.ranges[i].parent) {
        if (is_phase(data, data.ranges[i])) return i;
    }
    return npos;
}

std::int64_t first_sequence(const timeline_range& call) noexcept {
    return call.payload_kind == payload_type::u64 ? static_cast<std::int64_t>(call.payload) : -1;
}

}  // namespace

module_calls::module_calls(const timeline& data, std::size_t first_range, std::size_t end_range)
    : data_(data), threads_(data.threads.size()) {
    for (range_id i(first_range); i < end_range; ++i) {
        const timeline_range& range = data.ranges[i];
        if (!is_phase(data, range)) continue;
        if (is_backward(data, range)) {
            threads_[range.thread].goes_backward = true;
            if (range.category == makes_graph) graph_made_ns_ = std::min(graph_made_ns_, range.end_ns);
        }
        const bool is_in_node = data.name(range.name) == module_work_names[std::size_t(module_work::recompute)];
        if (!is_in_node) threads_[range.thread].has_phases = true;
    }
    has_engine_ = std::any_of(data.name_table.begin(), data.name_table.end(),
                              [](const auto& entry) { return entry.second.starts_with(engine_prefix); });
    for (range_id i(first_range); i < end_range; ++i) {
        const timeline_range& range = data.ranges[i];
        if (range.is_module && range.style == range_style::push_pop) calls_.push_back(i);
        if (is_backward_node(range)) nodes_.push_back(i);
    }
    for (auto* const list : {&calls_, &nodes_}) {
        std::stable_sort(list->begin(), list->end(), [&](range_id a, range_id b) {
            const timeline_range& left = data.ranges[a];
            const timeline_range& right = data.ranges[b];
            return std::tie(left.thread, left.start_ns) < std::tie(right.thread, right.start_ns);
        });
    }
    sweep(
        nodes_, &thread_entry::nodes,
        [&](range_id node) {
            const timeline_range& range = data_.ranges[node];
            threads_[range.thread].latest_nodes.all.push_back({range.start_ns, node});
        },
        [&](range_id node, range_id) {
            const timeline_range& range = data_.ranges[node];
            threads_[range.thread].latest_nodes.all.push_back({range.end_ns, node});
        });
    sweep(
        calls_, &thread_entry::calls,
        [&](range_id call) {
            const timeline_range& range = data_.ranges[call];
            add_segment(call, first_sequence(range), range.start_ns, call);
        },
        [&](range_id call, range_id around) {
            const timeline_range& range = data_.ranges[call];
            if (!range.open_at_end) add_segment(call, range.sequence, range.end_ns, around);
        });
    for (const thread_id thread : threads_.ids()) {
        if (!threads_[thread].segments.empty()) made_nodes_on_.push_back(thread);
    }
}

// Calls begin(range) and end(range, the one around it) in the order of time.
template <typename TBegin, typename TEnd>
void module_calls::sweep(const std::vector<range_id>& ranges, change_list thread_entry::*changes, TBegin begin,
                         TEnd end) {
    std::vector<range_id> open;
    thread_id thread = npos;
    const auto end_until = [&](std::int64_t time_ns) {
        while (!open.empty() && data_.ranges[open.back()].end_ns <= time_ns) {
            const range_id ended = open.back();
            open.pop_back();
            const range_id around = open.empty() ? npos : open.back();
            (threads_[thread].*changes).all.push_back({data_.ranges[ended].end_ns, around});
            end(ended, around);
        }
    };
    for (const range_id index : ranges) {
        const timeline_range& range = data_.ranges[index];
        end_until(range.thread == thread ? range.start_ns : INT64_MAX);
        thread = range.thread;
        const std::int64_t duration_ns = range.end_ns - range.start_ns;
        if (!open.empty()) {
            within_ns_[open.back()] += duration_ns;
            around_.emplace(index, open.back());
        }
        open.push_back(index);
        (threads_[thread].*changes).all.push_back({range.start_ns, index});
        begin(index);
    }
    end_until(INT64_MAX);
}

// Something of `call` was recorded; from `sequence` on nodes are made in `now_in`.
void module_calls::add_segment(range_id call, std::int64_t sequence, std::int64_t time_ns, range_id now_in) {
    if (sequence < 0) return;
    const timeline_range& range = data_.ranges[call];
    std::vector<segment>& segments = threads_[range.thread].segments;
    if (!segments.empty() && sequence < segments.back().sequence) return;
    if (!segments.empty() && sequence == segments.back().sequence) segments.pop_back();
    segments.push_back({sequence, time_ns, now_in, node_at(range.thread, range.start_ns)});
}

std::size_t module_calls::change_list::after(std::int64_t time_ns) const {
    latest = partition_point_near(all.size(), latest, [&](std::size_t at) { return all[at].time_ns <= time_ns; });
    return latest;
}
range_id module_calls::change_list::at(std::int64_t time_ns) const {
    const std::size_t next = after(time_ns);
    return next == 0 ? npos : all[next - 1].range;
}
range_id module_calls::call_at(thread_id thread, std::int64_t time_ns) const {
    return thread < threads_.size() ? threads_[thread].calls.at(time_ns) : npos;
}
range_id module_calls::node_at(thread_id thread, std::int64_t time_ns) const {
    return thread < threads_.size() ? threads_[thread].nodes.at(time_ns) : npos;
}
range_id module_calls::latest_node_at(thread_id thread, std::int64_t time_ns) const {
    return thread < threads_.size() ? threads_[thread].latest_nodes.at(time_ns) : npos;
}

std::int64_t module_calls::next_change(thread_id thread, std::int64_t time_ns) const {
    std::int64_t out = INT64_MAX;
    if (thread >= threads_.size()) return out;
    for (const auto* const changes : {&threads_[thread].calls, &threads_[thread].nodes}) {
        const std::size_t next = changes->after(time_ns);
        if (next != changes->all.size()) out = std::min(out, changes->all[next].time_ns);
    }
    return out;
}

// What PyTorch's observer pushes for a node that the engine runs. In the mode `ops` operators have numbers, too, and so
// have the forwards of the program's own Functions, which have no namespace: they are not in a phase backward, nor on a
// thread of the engine's.
bool module_calls::is_backward_node(const timeline_range& range) const {
    if (!range.is_operator || range.style != range_style::push_pop) return false;
    const std::string_view name = data_.name(range.name);
    if (name.starts_with(own_namespace)) return true;  // those without a number as well
    if (range.sequence < 0 || name.find("::") != std::string_view::npos) return false;
    const range_id phase = phase_around(data_, range);
    if (phase != npos) return is_backward(data_, data_.ranges[phase]);
    if (threads_[range.thread].has_phases) return false;
    // Where operators were recorded, so was the engine's range around each node.
    return !has_engine_ || (range.parent != npos && is_of_engine(data_.ranges[range.parent]));
}

bool module_calls::is_of_engine(const timeline_range& range) const {
    return range.is_operator && data_.name(range.name).starts_with(engine_prefix);
}

range_id module_calls::node_of_launch(const timeline_api_call& call) const {
    const range_id open = node_at(call.thread, call.start_ns);
    torch_node_id at = call.torch_open;
    while (at != npos && !is_of_engine(data_.ranges[data_.torch_nodes[at].range])) at = data_.torch_nodes[at].below;
    if (at == npos) return open;
    const range_id engine = data_.torch_nodes[at].range;
    const change_list& nodes = threads_[call.thread].nodes;
    const std::size_t next = nodes.after(call.start_ns);
    for (const range_id node : {open, latest_node_at(call.thread, call.start_ns),
                                next == nodes.all.size() ? range_id() : nodes.all[next].range}) {
        const bool is_within =
            node != npos && node > engine && data_.ranges[node].start_ns < data_.ranges[engine].end_ns;
        if (is_within) return node;
    }
    return open;
}

// Where a backward makes a graph, the engine's threads make its nodes, and nothing gives the numbers that these have.
bool module_calls::may_be_made_by_engine(const timeline_range& node) const {
    return node.start_ns >= graph_made_ns_ && !threads_[node.thread].goes_backward;
}

maker_of_node module_calls::maker_of(range_id node) const {
    const timeline_range& range = data_.ranges[node];
    if (range.sequence < 0) {
        const bool adds_up = data_.name(range.name) == "torch::autograd::AccumulateGrad";
        return {adds_up ? made_in::accumulation : made_in::unknown, npos};
    }
    // Numbers are a thread's own. What a node recomputes with gradients, and goes backward through, is made in it.
    const auto outer = around_.find(node);
    for (range_id in_node = outer == around_.end() ? npos : outer->second;; in_node = npos) {
        if (in_node == npos && may_be_made_by_engine(range)) return {};
        maker_of_node found;
        bool found_maker = false;  // on a thread that has made nodes in modules' calls
        for (const thread_id thread : made_nodes_on_) {
            const std::vector<segment>& segments = threads_[thread].segments;
            const auto next =
                std::upper_bound(segments.begin(), segments.end(), range.sequence,
                                 [](std::int64_t sequence, const segment& entry) { return sequence < entry.sequence; });
            if (next == segments.begin()) continue;
            const segment& made = next[-1];
            if (made.time_ns > range.start_ns || made.in_node != in_node) continue;
            if (in_node != npos && thread != range.thread) continue;
            const bool is_maker = segments.front().sequence != segments.back().sequence;
            if (found_maker && !is_maker) continue;
            const maker_of_node here = {made.call == npos ? made_in::no_module : made_in::module, made.call};
            const bool replaces = found.where == made_in::unknown || (is_maker && !found_maker);
            if (!replaces && (here.where == made_in::module || found.where == made_in::module)) return {};
            if (replaces) found = here;
            found_maker = found_maker || is_maker;
        }
        if (found.where != made_in::unknown || in_node == npos) return found;
    }
}

}  // namespace prof
