// simulated_gpu: launching, graphs, the passing of time and the journal.
#include <unistd.h>

#include <algorithm>
#include <unordered_map>

#include "fakes/gpu/simulated_gpu.hpp"

namespace fake {
namespace {

std::uint64_t later(std::uint64_t start_ns, std::uint64_t duration_ns) {
    return duration_ns > FAKE_GPU_NEVER - start_ns ? FAKE_GPU_NEVER : start_ns + duration_ns;
}

std::uint64_t take_duration_ns(std::uint64_t duration_ns) {
    const next_operation next = std::exchange(next_on_this_thread(), {});
    if (next.never_completes) {
        return FAKE_GPU_NEVER;
    }
    return next.duration_ns == 0 ? duration_ns : next.duration_ns;
}

constexpr auto ends_later = [](const auto& one, const auto& other) {
    return one.end_ns != other.end_ns ? one.end_ns > other.end_ns : one.index > other.index;
};

// What tools are told of every node, whatever it is.
constexpr CUgraphNodeType announced_node_type = CU_GRAPH_NODE_TYPE_KERNEL;

void announce_end_of_nodes(tool* attached, const CUgraph_st& graph) {
    for (auto node = graph.nodes.begin(); attached != nullptr && node != graph.nodes.end(); ++node) {
        CUpti_GraphData data{};
        data.graph = const_cast<CUgraph>(&graph);
        data.node = node->get();
        data.nodeType = announced_node_type;
        attached->resource_changed(CUPTI_CBID_RESOURCE_GRAPHNODE_DESTROY_STARTING, nullptr, nullptr, &data);
    }
}

}  // namespace

simulated_gpu::issued simulated_gpu::issue(fake_gpu_operation operation) {
    operation.submitted_ns = clock.now_ns();
    operation.thread_id = static_cast<std::uint32_t>(gettid());
    operation.end_ns = operation.start_ns = FAKE_GPU_NEVER;
    {
        const std::scoped_lock lock{mutex_};
        operation.index = journal_.size();
        journal_.push_back(operation);
    }
    tool* attached = attached_tool();
    operation.end_ns = operation.start_ns = 0;
    return {operation.index, attached == nullptr ? 0 : attached->operation_issued(operation)};
}

std::uint64_t simulated_gpu::ready_ns(const CUstream_st& stream) const {
    std::uint64_t ready = stream.free_at_ns;
    if (stream.is_legacy_default) {
        for (const auto& other : streams_) {
            if (other->is_blocking && other->context == stream.context) {
                ready = std::max(ready, other->free_at_ns);
            }
        }
    } else if (stream.is_blocking) {
        ready = std::max(ready, default_streams_.at({stream.context->id, 0})->free_at_ns);
    }
    return ready;
}

std::uint64_t simulated_gpu::schedule(issued what, std::uint64_t start_ns, std::uint64_t duration_ns) {
    fake_gpu_operation& operation = journal_[what.index];
    const tool* attached = tool_;
    const bool is_serialized =
        operation.kind == FAKE_GPU_KERNEL && attached != nullptr && attached->serializes_kernels();
    operation.start_ns = is_serialized ? std::max(start_ns, kernels_free_at_ns_) : start_ns;
    operation.end_ns = later(operation.start_ns, duration_ns);
    if (is_serialized) {
        kernels_free_at_ns_ = operation.end_ns;
    }
    in_flight_.push_back({operation.end_ns, what.index, what.ticket});
    std::ranges::push_heap(in_flight_, ends_later);
    return operation.end_ns;
}

void simulated_gpu::launch(CUstream stream, fake_gpu_operation operation, std::uint64_t duration_ns) {
    duration_ns = take_duration_ns(duration_ns);
    operation.device = stream->context->device;
    operation.context = stream->context->id;
    operation.stream = stream->id;
    CUgraphNode node = nullptr;
    CUgraph graph = nullptr;
    {
        const std::scoped_lock lock{mutex_};
        graph = stream->capture;
        if (graph != nullptr) {
            node = add_node(stream, operation, duration_ns);
        }
    }
    if (node != nullptr) {
        if (tool* attached = attached_tool()) {
            CUpti_GraphData data{};
            data.graph = graph;
            data.node = node;
            data.nodeType = announced_node_type;
            attached->resource_changed(CUPTI_CBID_RESOURCE_GRAPHNODE_CREATED, stream->context, nullptr, &data);
        }
        return;
    }
    const issued what = issue(operation);
    const std::scoped_lock lock{mutex_};
    const std::uint64_t start_ns = std::max(ready_ns(*stream), journal_[what.index].submitted_ns + launch_latency_ns);
    stream->free_at_ns = schedule(what, start_ns, duration_ns);
}

// --- graphs ------------------------------------------------------------------------------------

void simulated_gpu::begin_capture(CUstream stream) {
    const std::scoped_lock lock{mutex_};
    graphs_.push_back(std::make_unique<CUgraph_st>());
    graphs_.back()->id = ++last_graph_id_;
    stream->capture = graphs_.back().get();
    stream->is_capture_origin = true;
    stream->capture_tail.clear();
}

CUgraphNode simulated_gpu::add_node(CUstream stream, const fake_gpu_operation& operation, std::uint64_t duration_ns) {
    auto node = std::make_unique<CUgraphNode_st>();
    node->id = ++last_node_id_;
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

CUgraphExec simulated_gpu::instantiate(CUgraph graph) {
    CUgraphExec exec = nullptr;
    {
        const std::scoped_lock lock{mutex_};
        graph_execs_.push_back(std::make_unique<CUgraphExec_st>());
        exec = graph_execs_.back().get();
        exec->id = ++last_graph_id_;
        exec->graph.id = ++last_graph_id_;
        std::unordered_map<CUgraphNode, CUgraphNode> clone_of;
        for (const auto& node : graph->nodes) {
            auto clone = std::make_unique<CUgraphNode_st>(*node);
            clone->id = ++last_node_id_;
            clone->original = node.get();
            for (CUgraphNode& dependency : clone->dependencies) {
                dependency = clone_of.at(dependency);
            }
            clone_of[node.get()] = clone.get();
            exec->graph.nodes.push_back(std::move(clone));
        }
    }
    if (tool* attached = attached_tool()) {
        CUpti_GraphData data{};
        data.graph = &exec->graph;
        data.originalGraph = graph;
        attached->resource_changed(CUPTI_CBID_RESOURCE_GRAPH_CLONED, nullptr, nullptr, &data);
        for (const auto& node : exec->graph.nodes) {
            data.node = node.get();
            data.nodeType = announced_node_type;
            data.originalNode = nullptr;
            attached->resource_changed(CUPTI_CBID_RESOURCE_GRAPHNODE_CREATED, nullptr, nullptr, &data);
            data.originalNode = node->original;
            attached->resource_changed(CUPTI_CBID_RESOURCE_GRAPHNODE_CLONED, nullptr, nullptr, &data);
        }
        data = {};
        data.graph = graph;
        data.graphExec = exec;
        attached->resource_changed(CUPTI_CBID_RESOURCE_GRAPHEXEC_CREATED, nullptr, nullptr, &data);
    }
    return exec;
}

void simulated_gpu::launch_graph(CUgraphExec exec, CUstream stream, std::uint32_t correlation_id) {
    if (exec->id > broken_after_ && exec->id <= broken_up_to_) {
        std::fputs("fake GPU: a graph is launched that was made under GRAPH_TRACE, after cuptiFinalize\n", stderr);
        std::abort();
    }
    const auto prepare = [&](fake_gpu_operation operation) {
        operation.device = stream->context->device;
        operation.context = stream->context->id;
        operation.stream = stream->id;
        operation.graph_id = exec->id;
        return issue(operation);
    };
    fake_gpu_operation whole{};
    whole.kind = FAKE_GPU_GRAPH;
    whole.correlation_id = correlation_id;
    const issued graph = prepare(whole);
    std::vector<issued> nodes;
    for (const auto& node : exec->graph.nodes) {
        fake_gpu_operation operation = node->operation;
        operation.graph_node_id = node->id;
        operation.correlation_id = whole.correlation_id;
        nodes.push_back(prepare(operation));
    }

    const std::scoped_lock lock{mutex_};
    const std::uint64_t start_ns = std::max(ready_ns(*stream), journal_[graph.index].submitted_ns + launch_latency_ns);
    std::uint64_t end_ns = start_ns;
    std::unordered_map<const CUgraphNode_st*, std::uint64_t> end_of;
    for (std::size_t i = 0; i < nodes.size(); ++i) {
        const CUgraphNode_st& node = *exec->graph.nodes[i];
        std::uint64_t node_start_ns = start_ns;
        for (const CUgraphNode dependency : node.dependencies) {
            node_start_ns = std::max(node_start_ns, end_of.at(dependency));
        }
        end_of[&node] = schedule(nodes[i], node_start_ns, node.duration_ns);
        end_ns = std::max(end_ns, end_of[&node]);
    }
    schedule(graph, start_ns, end_ns - start_ns);
    stream->free_at_ns = end_ns;
}

std::uint32_t simulated_gpu::last_graph_id() const {
    const std::scoped_lock lock{mutex_};
    return last_graph_id_;
}

void simulated_gpu::break_graphs_made_after(std::uint32_t graph_id) {
    const std::scoped_lock lock{mutex_};
    broken_after_ = graph_id;
    broken_up_to_ = last_graph_id_;
}

void simulated_gpu::destroy_graph(CUgraph graph) {
    announce_end_of_nodes(attached_tool(), *graph);
    const std::scoped_lock lock{mutex_};
    std::erase_if(graphs_, [graph](const auto& each) { return each.get() == graph; });
}

void simulated_gpu::destroy_graph_exec(CUgraphExec exec) {
    announce_end_of_nodes(attached_tool(), exec->graph);
    const std::scoped_lock lock{mutex_};
    std::erase_if(graph_execs_, [exec](const auto& each) { return each.get() == exec; });
}

// --- the passing of time, the journal -----------------------------------------------------------

void simulated_gpu::settle() {
    const std::scoped_lock handing_on{settling_};
    const std::uint64_t now_ns = clock.now_ns();
    while (true) {
        in_flight ended{};
        fake_gpu_operation operation{};
        {
            const std::scoped_lock lock{mutex_};
            if (in_flight_.empty() || in_flight_.front().end_ns > now_ns ||
                in_flight_.front().end_ns == FAKE_GPU_NEVER) {
                return;
            }
            ended = in_flight_.front();
            std::ranges::pop_heap(in_flight_, ends_later);
            in_flight_.pop_back();
            operation = journal_[ended.index];
        }
        if (tool* attached = attached_tool()) {
            attached->operation_ended(ended.ticket, operation);
        }
    }
}

bool simulated_gpu::has_operations_in_flight() const {
    const std::scoped_lock lock{mutex_};
    return std::ranges::any_of(in_flight_,
                               [](const in_flight& operation) { return operation.end_ns != FAKE_GPU_NEVER; });
}

std::size_t simulated_gpu::journal_size() const {
    const std::scoped_lock lock{mutex_};
    return journal_.size();
}

bool simulated_gpu::journal_entry(std::size_t index, fake_gpu_operation& operation) const {
    const std::scoped_lock lock{mutex_};
    if (index >= journal_.size()) {
        return false;
    }
    operation = journal_[index];
    return true;
}

void simulated_gpu::set_record_state(std::uint64_t index, fake_gpu_record_state state) {
    const std::scoped_lock lock{mutex_};
    if (index < journal_.size()) {
        journal_[index].record = state;
    }
}

}  // namespace fake
