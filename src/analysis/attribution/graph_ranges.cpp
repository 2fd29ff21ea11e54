// SPDX-License-Identifier: Apache-2.0
#include "analysis/attribution/graph_ranges.hpp"

#include <algorithm>

namespace prof {
namespace {

constexpr std::size_t replayed_for_all = 1U << 20;
constexpr std::size_t replayed_an_op = 32;
constexpr int most_nested = 64;  // depth of captures begun inside other captures

template <typename TCaptures>
auto first_after(TCaptures& captures, std::int64_t time_ns) {
    return std::upper_bound(captures.begin(), captures.end(), time_ns,
                            [](std::int64_t ns, const auto& capture) { return ns < capture.time_ns; });
}

}  // namespace

graph_ranges::graph_ranges(const timeline& data, attribution& att)
    : data_(data), att_(att), captures_(data.threads.size()) {
    for (const capture_begin& begin : data.capture_begins)
        captures_[begin.thread].push_back({.time_ns = begin.time_ns});
    for (const timeline_graph_node& node : data.graph_nodes) {
        if (node.graph == 0) continue;
        std::vector<begun_capture>& captures = captures_[node.thread];
        const auto after = first_after(captures, node.created_ns);
        if (after == captures.begin() || after[-1].first_node_ns <= node.created_ns) continue;
        after[-1].first_node_ns = node.created_ns;
        after[-1].graph = node.graph;
    }
}

void graph_ranges::add(const finder& find) {
    const auto is_of_node = [](const auto& r) { return r.graph_node_id != 0; };
    if (std::none_of(data_.kernels.begin(), data_.kernels.end(), is_of_node) &&
        std::none_of(data_.transfers.begin(), data_.transfers.end(), is_of_node)) {
        return;
    }
    row_values<graph_node_id, state_id> state_of_node(data_.graph_nodes.size(), npos);
    for (const op_id i : data_.ops.ids()) {
        const gpu_op& op = data_.ops[i];
        if (op.graph_node == npos || op.launch == npos) continue;
        if (op.graph_node == graph_capture_unseen) {
            ++att_.ops_of_unseen_captures;
            continue;
        }
        state_id& known = state_of_node[op.graph_node];
        if (known == npos) {
            const timeline_graph_node& node = data_.graph_nodes[op.graph_node];
            known = state_of(node, find(node, op));
        }
        // The limit is reached only by a damaged capture, such as a graph of a thousand ranges launched without end.
        if (att_.replayed.size() > replayed_for_all + replayed_an_op * data_.ops.size()) {
            ++att_.ops_of_unseen_captures;
            continue;
        }
        if (states_[known].is_ambiguous) ++att_.ops_of_ambiguous_captures;
        if (states_[known].ranges.empty()) continue;
        const auto [placed, is_new] = placed_.try_emplace(pair_key(op.launch, known), npos);
        if (is_new) placed->second = place(i, states_[known]);
        att_.captured[i] = placed->second;
    }
}

std::int64_t graph_ranges::capture_began_ns(const timeline_graph_node& node, const captured_at& at) const {
    const std::int64_t own_ns = capture_began_ns(node.thread, node);
    if (at.adopted_open == npos) return own_ns;
    // Either the other thread captures and this one helps, or this one captures while the other waits.
    const thread_id other = data_.ranges[list_node(data_, att_, at.adopted_open).range].thread;
    return std::max(own_ns, capture_began_ns(other, node));
}

std::int64_t graph_ranges::capture_began_ns(thread_id thread, const timeline_graph_node& node) const {
    const std::vector<begun_capture>& captures = captures_[thread];
    auto at = first_after(captures, node.created_ns);
    for (int i = 0; i < most_nested && at != captures.begin(); ++i) {
        --at;
        if (at->graph == 0 || node.graph == 0 || at->graph == node.graph) return at->time_ns;
    }
    return INT64_MIN;
}

auto graph_ranges::state_of(const timeline_graph_node& node, const captured_at& at) -> state_id {
    const std::int64_t began_ns = capture_began_ns(node, at);
    const auto [known, is_new] =
        known_states_.try_emplace({at.open, at.adopted_open, began_ns, at.is_ambiguous}, states_.end_id());
    if (!is_new) return known->second;
    state& made = states_.emplace_back();
    made.is_ambiguous = at.is_ambiguous;
    for (const open_node_id head : {at.open, at.adopted_open}) {
        for (open_node_id i = head; i != npos; i = list_node(data_, att_, i).below) {
            const range_id range = list_node(data_, att_, i).range;
            if (!att_.hidden.contains(data_.ranges[range])) made.ranges.push_back(range);
        }
    }
    std::reverse(made.ranges.begin(), made.ranges.end());
    // Enclosing ranges are recognised by time alone, since beginning a capture takes longer than a step of the clock.
    const auto is_enclosing = [&](range_id range) {
        return data_.ranges[range].start_ns <= began_ns && !data_.ranges[range].is_replayed_alike;
    };
    const auto inside = std::stable_partition(made.ranges.begin(), made.ranges.end(), is_enclosing);
    made.enclosing = static_cast<std::size_t>(inside - made.ranges.begin());
    return known->second;
}

// Finds or makes the innermost captured range under the launch of `op`; npos if none counts.
replayed_id graph_ranges::place(op_id op, const state& captured) {
    std::vector<range_id> open;
    for_each_open_range(data_, att_, op, [&](range_id range) { open.push_back(range); });
    std::sort(open.begin(), open.end());
    const range_id owner = att_.owner[op];
    std::uint32_t depth = is_range(owner) ? att_.depth[owner] + 1 : 0;
    replayed_id innermost = npos;
    for (std::size_t i = open.empty() ? 0 : captured.enclosing; i < captured.ranges.size(); ++i) {
        if (std::binary_search(open.begin(), open.end(), captured.ranges[i])) continue;
        innermost = child(data_.ops[op].launch, innermost, captured.ranges[i], depth++);
    }
    return innermost;
}

replayed_id graph_ranges::child(call_id launch, replayed_id parent, range_id range, std::uint32_t depth) {
    const auto [known, is_new] = children_.try_emplace({launch, parent, range}, att_.replayed.end_id());
    if (is_new) att_.replayed.push_back({range, launch, parent, depth});
    return known->second;
}

}  // namespace prof
