// SPDX-License-Identifier: Apache-2.0
// simulated_gpu: graphs, as they are made and destroyed. The reported events and their order are what was measured
// (docs/lab/cupti-graphs.md, "What CUPTI reports of graphs inside graphs").
#include <algorithm>
#include <unordered_map>

#include "fakes/gpu/simulated_gpu.hpp"

namespace fake {
namespace {

using node_type = CUgraphNode_st::type;

// The node type that tools get for every node.
constexpr CUgraphNodeType announced_node_type = CU_GRAPH_NODE_TYPE_KERNEL;

void take_id(CUgraphNode_st& node, CUgraph_st& in) { node.id = std::uint64_t{in.id} << 32 | in.next_index++; }

// Wherever `nodes` has `one`, it gets `others` instead.
void replace(std::vector<CUgraphNode>& nodes, const CUgraphNode_st* one, const std::vector<CUgraphNode>& others) {
    const auto found = std::ranges::find(nodes, one);
    if (found == nodes.end()) {
        return;
    }
    nodes.insert(nodes.erase(found), others.begin(), others.end());
}

std::vector<CUgraphNode> handles_of(const std::vector<std::unique_ptr<CUgraphNode_st>>& nodes) {
    std::vector<CUgraphNode> handles;
    for (const auto& node : nodes) {
        handles.push_back(node.get());
    }
    return handles;
}

}  // namespace

void simulated_gpu::announce(CUpti_CallbackIdResource what, CUgraph graph, CUgraphNode node, CUgraphNode original,
                             CUgraphExec exec, CUgraph original_graph) const {
    tool* attached = attached_tool();
    if (attached == nullptr) {
        return;
    }
    CUpti_GraphData data{};
    data.graph = graph;
    data.originalGraph = original_graph;
    data.node = node;
    data.originalNode = original;
    data.nodeType = announced_node_type;
    data.graphExec = exec;
    attached->resource_changed(what, nullptr, nullptr, &data);
}

void simulated_gpu::announce_end(const CUgraph_st& graph) const {
    announce(CUPTI_CBID_RESOURCE_GRAPH_DESTROY_STARTING, const_cast<CUgraph>(&graph));
    for (const auto& node : graph.nodes) {
        announce(CUPTI_CBID_RESOURCE_GRAPHNODE_DESTROY_STARTING, const_cast<CUgraph>(&graph), node.get());
    }
    for (const auto& node : graph.nodes) {
        for (const auto& inner : node->inner) {
            announce_end(*inner);
        }
    }
}

std::uint32_t simulated_gpu::next_graph_id() {
    const std::scoped_lock lock{mutex_};
    return ++last_graph_id_;
}

std::uint32_t simulated_gpu::last_graph_id() const {
    const std::scoped_lock lock{mutex_};
    return last_graph_id_;
}

// --- making ---------------------------------------------------------------------------------------

CUgraph simulated_gpu::create_graph() {
    CUgraph graph = nullptr;
    {
        const std::scoped_lock lock{mutex_};
        graphs_.push_back(std::make_unique<CUgraph_st>());
        graph = graphs_.back().get();
        graph->id = ++last_graph_id_;
    }
    announce(CUPTI_CBID_RESOURCE_GRAPH_CREATED, graph);
    return graph;
}

void simulated_gpu::begin_capture(CUstream stream, CUgraph graph) {
    if (graph == nullptr) {
        graph = create_graph();
    }
    const std::scoped_lock lock{mutex_};
    stream->capture = graph;
    stream->is_capture_origin = true;
    stream->capture_tail.clear();
}

CUgraphNode simulated_gpu::add_node(CUstream stream, const fake_gpu_operation& operation, std::uint64_t duration_ns) {
    auto node = std::make_unique<CUgraphNode_st>();
    take_id(*node, *stream->capture);
    node->operation = operation;
    node->duration_ns = duration_ns;
    node->dependencies = std::exchange(stream->capture_tail, {node.get()});
    stream->capture->nodes.push_back(std::move(node));
    return stream->capture->nodes.back().get();
}

CUgraph simulated_gpu::end_capture(CUstream stream) {
    const std::scoped_lock lock{mutex_};
    if (!stream->is_capture_origin) {
        return nullptr;
    }
    const CUgraph graph = stream->capture;
    const auto leave = [graph](CUstream_st& each) {
        if (each.capture == graph) {
            each.capture = nullptr;
            each.is_capture_origin = false;
            each.capture_tail.clear();
        }
    };
    for (const auto& [key, each] : default_streams_) {
        leave(*each);
    }
    for (const auto& each : streams_) {
        leave(*each);
    }
    return graph;
}

CUgraphNode simulated_gpu::append(CUgraph graph, std::unique_ptr<CUgraphNode_st> node,
                                  const std::vector<CUgraphNode>& after) {
    node->dependencies = after;
    for (const auto& inner : node->inner) {
        node->inner_handles.push_back(inner.get());
    }
    const CUgraphNode added = node.get();
    {
        const std::scoped_lock lock{mutex_};
        graph->nodes.push_back(std::move(node));
    }
    announce(CUPTI_CBID_RESOURCE_GRAPHNODE_CREATED, graph, added);
    return added;
}

CUgraphNode simulated_gpu::add_child(CUgraph graph, const std::vector<CUgraphNode>& after, CUgraph child) {
    auto node = std::make_unique<CUgraphNode_st>();
    take_id(*node, *graph);
    node->what = node_type::child;
    node->inner.push_back(copy_graph(*child));
    return append(graph, std::move(node), after);
}

std::uint64_t simulated_gpu::create_condition(std::uint32_t value) {
    const std::scoped_lock lock{mutex_};
    const std::uint64_t handle = conditions_.size() + 1;
    conditions_[handle] = value;
    return handle;
}

void simulated_gpu::set_condition(std::uint64_t handle, std::uint32_t value) {
    const std::scoped_lock lock{mutex_};
    conditions_[handle] = value;
}

CUgraphNode simulated_gpu::add_conditional(CUgraph graph, const std::vector<CUgraphNode>& after, node_type what,
                                           std::uint64_t handle, std::uint32_t bodies) {
    auto node = std::make_unique<CUgraphNode_st>();
    take_id(*node, *graph);
    node->what = what;
    node->condition = handle;
    for (std::uint32_t i = 0; i < bodies; ++i) {
        node->inner.push_back(std::make_unique<CUgraph_st>());
        node->inner.back()->id = next_graph_id();
        announce(CUPTI_CBID_RESOURCE_GRAPH_CREATED, node->inner.back().get());
    }
    return append(graph, std::move(node), after);
}

// --- instantiating ---------------------------------------------------------------------------------

std::unique_ptr<CUgraph_st> simulated_gpu::copy_graph(CUgraph_st& of) {
    auto copy = std::make_unique<CUgraph_st>();
    copy->id = next_graph_id();
    announce(CUPTI_CBID_RESOURCE_GRAPH_CREATED, copy.get());
    copy_nodes(of, *copy);
    return copy;
}

void simulated_gpu::copy_nodes(CUgraph_st& of, CUgraph_st& to) {
    std::unordered_map<CUgraphNode, CUgraphNode> copy_of;
    for (const auto& node : of.nodes) {
        auto copy = std::make_unique<CUgraphNode_st>();
        take_id(*copy, to);
        copy->what = node->what;
        copy->operation = node->operation;
        copy->duration_ns = node->duration_ns;
        copy->condition = node->condition;
        copy->original = node.get();
        for (const auto& inner : node->inner) {
            copy->inner.push_back(copy_graph(*inner));
        }
        std::vector<CUgraphNode> after;
        for (const CUgraphNode dependency : node->dependencies) {
            after.push_back(copy_of.at(dependency));
        }
        copy_of[node.get()] = append(&to, std::move(copy), after);
        announce(CUPTI_CBID_RESOURCE_GRAPHNODE_CLONED, &to, copy_of[node.get()], node.get(), nullptr, &of);
    }
}

// The nodes of inner graphs move behind the graph's own and get ids there. Tools get no event for that.
void simulated_gpu::move_inner_nodes(CUgraph_st& graph) {
    for (std::size_t at = 0; at < graph.nodes.size();) {
        CUgraphNode_st& node = *graph.nodes[at];
        const bool is_child = node.what == node_type::child;
        if (is_child) {
            announce(CUPTI_CBID_RESOURCE_GRAPHNODE_DESTROY_STARTING, &graph, &node);
        }
        const std::vector<CUgraphNode> before = node.dependencies;
        std::vector<std::unique_ptr<CUgraph_st>> inner = std::move(node.inner);
        node.inner.clear();
        node.inner_handles.clear();
        for (const auto& each : inner) {
            announce(CUPTI_CBID_RESOURCE_GRAPH_DESTROY_STARTING, each.get());
            std::vector<CUgraphNode> moved = handles_of(each->nodes);
            for (auto& owned : each->nodes) {
                take_id(*owned, graph);
                owned->is_in_body = !is_child || node.is_in_body;
                if (is_child && owned->dependencies.empty()) {
                    owned->dependencies = before;
                }
                graph.nodes.push_back(std::move(owned));
            }
            if (!is_child) {
                graph.nodes[at]->bodies.push_back(moved);
                continue;
            }
            for (const auto& other : graph.nodes) {
                replace(other->dependencies, graph.nodes[at].get(), moved.empty() ? before : moved);
                for (std::vector<CUgraphNode>& body : other->bodies) {
                    replace(body, graph.nodes[at].get(), moved);
                }
            }
        }
        if (is_child) {
            graph.nodes.erase(graph.nodes.begin() + static_cast<std::ptrdiff_t>(at));
        } else {
            ++at;
        }
    }
}

CUgraphExec simulated_gpu::instantiate(CUgraph graph) {
    auto made = std::make_unique<CUgraphExec_st>();
    const CUgraphExec exec = made.get();
    exec->id = exec->graph.id = next_graph_id();
    announce(CUPTI_CBID_RESOURCE_GRAPH_CREATED, &exec->graph);
    copy_nodes(*graph, exec->graph);
    exec->temporary.id = next_graph_id();
    announce(CUPTI_CBID_RESOURCE_GRAPH_CREATED, &exec->temporary);
    std::size_t helpers = 0;
    for (const auto& node : exec->graph.nodes) {
        helpers += is_conditional(*node) ? 1 + node->inner.size() : 0;
    }
    const bool has_inner =
        std::ranges::any_of(exec->graph.nodes, [](const auto& node) { return !node->inner.empty(); });
    const auto add_helper = [&](CUgraph_st& to) {
        auto helper = std::make_unique<CUgraphNode_st>();
        take_id(*helper, to);
        helper->what = node_type::helper;
        append(&to, std::move(helper), {});
    };
    if (has_inner) {
        add_helper(exec->temporary);
    }
    announce(CUPTI_CBID_RESOURCE_GRAPHEXEC_CREATE_STARTING, graph, nullptr, nullptr, exec);
    move_inner_nodes(exec->graph);
    for (std::size_t i = 0; i < helpers; ++i) {
        add_helper(exec->graph);
    }
    {
        const std::scoped_lock lock{mutex_};
        exec->body_stream = helpers == 0 ? 0 : ++last_stream_id_;
        graph_execs_.push_back(std::move(made));
    }
    announce(CUPTI_CBID_RESOURCE_GRAPHEXEC_CREATED, graph, nullptr, nullptr, exec);
    return exec;
}

bool simulated_gpu::update(CUgraphExec exec, CUgraph graph) {
    const auto is_operation = [](const auto& node) { return node->what == node_type::operation; };
    if (exec->graph.nodes.size() != graph->nodes.size() || !std::ranges::all_of(exec->graph.nodes, is_operation) ||
        !std::ranges::all_of(graph->nodes, is_operation)) {
        return false;
    }
    for (std::size_t i = graph->nodes.size(); i-- > 0;) {
        const CUgraphNode node = exec->graph.nodes[i].get();
        const CUgraphNode by = graph->nodes[i].get();
        announce(CUPTI_CBID_RESOURCE_GRAPH_NODE_UPDATED, nullptr, by, node, exec);
        announce(CUPTI_CBID_RESOURCE_GRAPH_NODE_SET_PARAMS, nullptr, node, node->original, exec);
        const std::scoped_lock lock{mutex_};
        node->operation = by->operation;
        node->duration_ns = by->duration_ns;
    }
    return true;
}

// --- destroying ------------------------------------------------------------------------------------

void simulated_gpu::destroy_graph(CUgraph graph) {
    announce_end(*graph);
    const std::scoped_lock lock{mutex_};
    for (const auto& exec : graph_execs_) {
        for (const auto& node : exec->graph.nodes) {
            const bool is_of_it =
                std::ranges::any_of(graph->nodes, [&](const auto& each) { return each.get() == node->original; });
            node->original = is_of_it ? nullptr : node->original;
        }
    }
    std::erase_if(graphs_, [graph](const auto& each) { return each.get() == graph; });
}

void simulated_gpu::destroy_graph_exec(CUgraphExec exec) {
    announce(CUPTI_CBID_RESOURCE_GRAPHEXEC_DESTROY_STARTING, nullptr, nullptr, nullptr, exec);
    announce_end(exec->graph);
    announce_end(exec->temporary);
    const std::scoped_lock lock{mutex_};
    std::erase_if(graph_execs_, [exec](const auto& each) { return each.get() == exec; });
}

}  // namespace fake
