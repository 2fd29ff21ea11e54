// SPDX-License-Identifier: Apache-2.0
#include "timeline/graph_bodies.hpp"

#include <algorithm>
#include <cstdint>
#include <tuple>
#include <unordered_map>
#include <utility>

namespace prof {
namespace {

// The clocks of host and GPU agree only to about a microsecond.
constexpr std::int64_t clock_slack_ns = 2'000;

struct graph_launch {
    std::uint64_t correlation = 0;
    std::int64_t called_ns = INT64_MIN;  // if known
    // Over its operations outside all bodies; if first_ns is INT64_MAX, there are none.
    std::int64_t first_ns = INT64_MAX;
    std::int64_t last_end_ns = INT64_MIN;

    bool has_ops() const noexcept { return first_ns != INT64_MAX; }
    bool was_called_by(std::int64_t ns) const noexcept { return called_ns <= ns + clock_slack_ns; }
};

struct body_op {
    std::int64_t start_ns = 0;
    std::uint64_t node = 0;
    std::uint64_t* correlation = nullptr;
};

struct executable_graph {
    std::vector<graph_launch> launches;
    std::vector<body_op> body;
};

// Key: attach epoch and graph id.
using graphs_by_key = std::unordered_map<std::uint64_t, executable_graph>;

constexpr std::uint64_t graph_key(std::uint64_t correlation, std::uint32_t graph) noexcept {
    return (correlation >> 32) << 32 | graph;
}

bool may_be_of_body(const gpu_op& op) noexcept { return static_cast<std::uint32_t>(op.correlation) == 0; }

template <typename TRecord>
void take_bodies(graphs_by_key& graphs, gpu_work_of<TRecord>& work) {
    const auto is_of_graph = [](const TRecord& r) { return r.graph_id != 0; };
    if (std::none_of(work.details.records().begin(), work.details.records().end(), is_of_graph)) return;
    for (gpu_op& op : work.ops) {
        if (!may_be_of_body(op) || op.start_ns == 0) continue;
        const TRecord& r = work.detail(op);
        if (r.graph_id == 0) continue;
        graphs[graph_key(op.correlation, r.graph_id)].body.push_back({op.start_ns, r.graph_node_id, &op.correlation});
    }
}

using launches_by_correlation = std::unordered_map<std::uint64_t, graph_launch>;

template <typename TRecord>
void take_launches(const graphs_by_key& graphs, std::unordered_map<std::uint64_t, launches_by_correlation>& launches,
                   const gpu_work_of<TRecord>& work) {
    for (const gpu_op& op : work.ops) {
        const std::uint32_t graph = work.detail(op).graph_id;
        if (graph == 0 || op.start_ns == 0 || may_be_of_body(op)) continue;
        const std::uint64_t key = graph_key(op.correlation, graph);
        if (!graphs.contains(key)) continue;
        graph_launch& launch = launches[key][op.correlation];
        launch.first_ns = std::min(launch.first_ns, op.start_ns);
        launch.last_end_ns = std::max(launch.last_end_ns, op.end_ns);
    }
}

// The launches in order of time, all of one kind: those with operations outside bodies or, if the graph has none, those
// whose calls are known.
std::vector<graph_launch> in_order(const launches_by_correlation& launches) {
    std::vector<graph_launch> all;
    for (const auto& [correlation, launch] : launches) {
        all.push_back(launch);
        all.back().correlation = correlation;
    }
    const bool have_ops = std::any_of(all.begin(), all.end(), [](const graph_launch& l) { return l.has_ops(); });
    if (have_ops) std::erase_if(all, [](const graph_launch& l) { return !l.has_ops(); });
    std::sort(all.begin(), all.end(), [](const graph_launch& a, const graph_launch& b) {
        return std::tie(a.first_ns, a.called_ns, a.correlation) < std::tie(b.first_ns, b.called_ns, b.correlation);
    });
    return all;
}

// What operations that can belong to only one launch show about their node.
struct node_place {
    bool comes_first = false;  // before all other nodes
    bool comes_later = false;  // among the other nodes, or after them
};

class body_launches {
public:
    explicit body_launches(const executable_graph& graph) : launches_(graph.launches) {
        for (const body_op& op : graph.body) learn(op);
    }

    // Null: no launch is known.
    const graph_launch* of(const body_op& op) const {
        const auto [earlier, later] = around(op);
        if (earlier == nullptr) return later;
        if (later == nullptr || op.start_ns < earlier->last_end_ns) return earlier;
        const auto known = places_.find(op.node);
        const bool is_first = known != places_.end() && known->second.comes_first && !known->second.comes_later;
        return is_first ? later : earlier;
    }

private:
    using pair = std::pair<const graph_launch*, const graph_launch*>;

    // The latest launch that had begun, and the next one if it had been called already.
    pair around(const body_op& op) const {
        const auto after = std::upper_bound(
            launches_.begin(), launches_.end(), op.start_ns, [](std::int64_t ns, const graph_launch& launch) {
                return launch.has_ops() ? ns < launch.first_ns : !launch.was_called_by(ns);
            });
        const graph_launch* const earlier = after == launches_.begin() ? nullptr : &after[-1];
        const bool next_may_be = after != launches_.end() && after->has_ops() && after->was_called_by(op.start_ns);
        return {earlier, next_may_be ? &*after : nullptr};
    }

    void learn(const body_op& op) {
        const auto [earlier, later] = around(op);
        if (earlier == nullptr && later != nullptr) places_[op.node].comes_first = true;
        if (earlier != nullptr && (later == nullptr || op.start_ns < earlier->last_end_ns)) {
            places_[op.node].comes_later = true;
        }
    }

    const std::vector<graph_launch>& launches_;
    std::unordered_map<std::uint64_t, node_place> places_;
};

}  // namespace

void find_launches_of_bodies(gpu_work& work, const std::vector<timeline_api_call>& calls,
                             const std::vector<graph_launch_call>& graph_calls) {
    graphs_by_key graphs;
    take_bodies(graphs, work.kernels);
    take_bodies(graphs, work.transfers);
    if (graphs.empty()) return;

    std::unordered_map<std::uint64_t, launches_by_correlation> launches;
    take_launches(graphs, launches, work.kernels);
    take_launches(graphs, launches, work.transfers);
    std::unordered_map<std::uint64_t, graph_launch*> by_correlation;
    for (auto& [key, of_graph] : launches) {
        for (auto& [correlation, launch] : of_graph) by_correlation[correlation] = &launch;
    }
    for (const timeline_api_call& call : calls) {
        if (const auto known = by_correlation.find(call.correlation); known != by_correlation.end()) {
            known->second->called_ns = call.start_ns;
        }
    }
    for (const graph_launch_call& call : graph_calls) {
        const std::uint64_t key = graph_key(call.correlation, call.graph);
        if (by_correlation.contains(call.correlation) || !graphs.contains(key)) continue;
        launches[key][call.correlation].called_ns = call.start_ns;
    }
    for (auto& [key, graph] : graphs) {
        graph.launches = in_order(launches[key]);
        const body_launches known(graph);
        for (const body_op& op : graph.body) {
            if (const graph_launch* const launch = known.of(op)) *op.correlation = launch->correlation;
        }
    }
}

}  // namespace prof
