// SPDX-License-Identifier: Apache-2.0
// simulated_gpu: launches of graphs.
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <unordered_map>

#include "fakes/gpu/simulated_gpu.hpp"

namespace fake {

using node_type = CUgraphNode_st::type;

struct simulated_gpu::step {
    issued what;
    std::uint64_t duration_ns = 0;
    std::vector<std::size_t> after;  // steps
};

struct simulated_gpu::graph_launch {
    simulated_gpu& gpu;
    std::function<issued(const CUgraphNode_st&)> prepare;
    std::vector<step> steps;

    using places = std::vector<std::size_t>;

    // Returns the steps after which all of `nodes` have ended.
    places run(const std::vector<CUgraphNode>& nodes, const places& after) {
        std::unordered_map<CUgraphNode, places> ends;
        for (const CUgraphNode node : nodes) {
            visit(node, after, ends);
        }
        places all;
        for (const auto& [node, its] : ends) {
            all.insert(all.end(), its.begin(), its.end());
        }
        return all;
    }

    const places& visit(CUgraphNode node, const places& entry, std::unordered_map<CUgraphNode, places>& ends) {
        if (const auto known = ends.find(node); known != ends.end()) {
            return known->second;
        }
        places after = node->dependencies.empty() ? entry : places{};
        for (const CUgraphNode dependency : node->dependencies) {
            const places its = visit(dependency, entry, ends);
            after.insert(after.end(), its.begin(), its.end());
        }
        if (node->what == node_type::operation) {
            steps.push_back({prepare(*node), node->duration_ns, after});
            after = {steps.size() - 1};
        }
        for (const std::size_t body : bodies_to_run(*node)) {
            places its = run(node->bodies[body], after);
            after = its.empty() ? after : std::move(its);
        }
        return ends[node] = after;
    }

    std::vector<std::size_t> bodies_to_run(const CUgraphNode_st& node) const {
        if (!is_conditional(node)) {
            return {};
        }
        std::uint32_t value = 0;
        {
            const std::scoped_lock lock{gpu.mutex_};
            value = gpu.conditions_[node.condition];
        }
        switch (node.what) {
            case node_type::while_body:
                return std::vector<std::size_t>(value, 0);
            case node_type::switch_body:
                return value < node.bodies.size() ? std::vector<std::size_t>{value} : std::vector<std::size_t>{};
            default:
                return value != 0               ? std::vector<std::size_t>{0}
                       : node.bodies.size() > 1 ? std::vector<std::size_t>{1}
                                                : std::vector<std::size_t>{};
        }
    }
};

void simulated_gpu::launch_graph(CUgraphExec exec, CUstream stream, std::uint32_t correlation_id) {
    if (exec->id > broken_after_ && exec->id <= broken_up_to_) {
        std::fputs("fake GPU: a graph is launched that was made under GRAPH_TRACE, after cuptiFinalize\n", stderr);
        std::abort();
    }
    const auto prepare = [&](fake_gpu_operation operation) {
        operation.device = stream->context->device;
        operation.context = stream->context->id;
        operation.graph_id = exec->id;
        return issue(operation);
    };
    fake_gpu_operation whole{};
    whole.kind = FAKE_GPU_GRAPH;
    whole.correlation_id = correlation_id;
    whole.stream = stream->id;
    const issued graph = prepare(whole);
    graph_launch launched{*this,
                          [&](const CUgraphNode_st& node) {
                              fake_gpu_operation operation = node.operation;
                              operation.graph_node_id = node.id;
                              operation.correlation_id = node.is_in_body ? 0 : correlation_id;
                              operation.stream = node.is_in_body ? exec->body_stream : stream->id;
                              return prepare(operation);
                          },
                          {}};
    std::vector<CUgraphNode> outside;
    for (const auto& node : exec->graph.nodes) {
        if (!node->is_in_body) {
            outside.push_back(node.get());
        }
    }
    launched.run(outside, {});

    const std::scoped_lock lock{mutex_};
    const std::uint64_t start_ns = std::max(ready_ns(*stream), journal_[graph.index].submitted_ns + launch_latency_ns);
    std::uint64_t end_ns = start_ns;
    std::vector<std::uint64_t> ends;
    for (const step& each : launched.steps) {
        std::uint64_t step_start_ns = start_ns;
        for (const std::size_t before : each.after) {
            step_start_ns = std::max(step_start_ns, ends[before]);
        }
        ends.push_back(schedule(each.what, step_start_ns, each.duration_ns));
        end_ns = std::max(end_ns, ends.back());
    }
    schedule(graph, start_ns, end_ns - start_ns);
    stream->free_at_ns = end_ns;
}

void simulated_gpu::break_graphs_made_after(std::uint32_t graph_id) {
    const std::scoped_lock lock{mutex_};
    broken_after_ = graph_id;
    broken_up_to_ = last_graph_id_;
}

}  // namespace fake
