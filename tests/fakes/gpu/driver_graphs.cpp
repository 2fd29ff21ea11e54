// SPDX-License-Identifier: Apache-2.0
// cu*: graphs.
#include <cupti.h>

#include <vector>

#include "fakes/gpu/api_call.hpp"
#include "fakes/gpu/driver.hpp"

using fake::api_call;
using fake::current_context;
using fake::gpu;

namespace {

std::vector<CUgraphNode> nodes_of(const CUgraphNode* nodes, std::size_t count) { return {nodes, nodes + count}; }

}  // namespace

extern "C" {

CUresult cuStreamBeginCapture(CUstream stream, CUstreamCaptureMode mode) {
    const cuStreamBeginCapture_v2_params params{stream, mode};
    api_call call{FAKE_DRIVER_FUNCTION(cuStreamBeginCapture_v2), &params};
    const CUstream resolved = gpu().resolve_stream(stream, current_context());
    if (resolved == nullptr || resolved->is_legacy_default) {
        return call.finish(CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED);
    }
    gpu().begin_capture(resolved);
    return call.finish(CUDA_SUCCESS);
}

CUresult cuStreamBeginCaptureToGraph(CUstream stream, CUgraph graph, const CUgraphNode* after,
                                     const CUgraphEdgeData* edges, std::size_t count, CUstreamCaptureMode mode) {
    const cuStreamBeginCaptureToGraph_params params{stream, graph, after, edges, count, mode};
    api_call call{FAKE_DRIVER_FUNCTION(cuStreamBeginCaptureToGraph), &params};
    const CUstream resolved = gpu().resolve_stream(stream, current_context());
    if (resolved == nullptr || resolved->is_legacy_default || graph == nullptr) {
        return call.finish(CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED);
    }
    gpu().begin_capture(resolved, graph);
    resolved->capture_tail = nodes_of(after, count);
    return call.finish(CUDA_SUCCESS);
}

CUresult cuStreamGetCaptureInfo(CUstream stream, CUstreamCaptureStatus* status, cuuint64_t* id, CUgraph* graph,
                                const CUgraphNode** after, const CUgraphEdgeData** edges, std::size_t* count) {
    const cuStreamGetCaptureInfo_v3_params params{stream, status, id, graph, after, edges, count};
    api_call call{FAKE_DRIVER_FUNCTION(cuStreamGetCaptureInfo_v3), &params};
    const CUstream resolved = gpu().resolve_stream(stream, current_context());
    if (resolved == nullptr) {
        return call.finish(CUDA_ERROR_INVALID_HANDLE);
    }
    const bool is_captured = resolved->capture != nullptr;
    *status = is_captured ? CU_STREAM_CAPTURE_STATUS_ACTIVE : CU_STREAM_CAPTURE_STATUS_NONE;
    const auto answer = [&](auto* to, auto value) {
        if (to != nullptr && is_captured) {
            *to = value;
        }
    };
    answer(id, cuuint64_t{resolved->id});
    answer(graph, resolved->capture);
    answer(after, static_cast<const CUgraphNode*>(resolved->capture_tail.data()));
    answer(edges, static_cast<const CUgraphEdgeData*>(nullptr));
    answer(count, resolved->capture_tail.size());
    return call.finish(CUDA_SUCCESS);
}

// What comes next depends on these alone.
CUresult cuStreamUpdateCaptureDependencies(CUstream stream, CUgraphNode* after, const CUgraphEdgeData* edges,
                                           std::size_t count, unsigned int flags) {
    const cuStreamUpdateCaptureDependencies_v2_params params{stream, after, edges, count, flags};
    api_call call{FAKE_DRIVER_FUNCTION(cuStreamUpdateCaptureDependencies_v2), &params};
    const CUstream resolved = gpu().resolve_stream(stream, current_context());
    if (resolved == nullptr || resolved->capture == nullptr || flags != CU_STREAM_SET_CAPTURE_DEPENDENCIES) {
        return call.finish(CUDA_ERROR_ILLEGAL_STATE);
    }
    resolved->capture_tail = nodes_of(after, count);
    return call.finish(CUDA_SUCCESS);
}

CUresult cuStreamEndCapture(CUstream stream, CUgraph* graph) {
    const cuStreamEndCapture_params params{stream, graph};
    api_call call{FAKE_DRIVER_FUNCTION(cuStreamEndCapture), &params};
    const CUstream resolved = gpu().resolve_stream(stream, current_context());
    const CUgraph captured = resolved == nullptr ? nullptr : gpu().end_capture(resolved);
    if (graph != nullptr) {
        *graph = captured;
    }
    return call.finish(captured == nullptr ? CUDA_ERROR_ILLEGAL_STATE : CUDA_SUCCESS);
}

CUresult cuGraphCreate(CUgraph* graph, unsigned int flags) {
    const cuGraphCreate_params params{graph, flags};
    api_call call{FAKE_DRIVER_FUNCTION(cuGraphCreate), &params};
    *graph = gpu().create_graph();
    return call.finish(CUDA_SUCCESS);
}

CUresult cuGraphAddChildGraphNode(CUgraphNode* node, CUgraph graph, const CUgraphNode* after, std::size_t count,
                                  CUgraph child) {
    const cuGraphAddChildGraphNode_params params{node, graph, after, count, child};
    api_call call{FAKE_DRIVER_FUNCTION(cuGraphAddChildGraphNode), &params};
    *node = gpu().add_child(graph, nodes_of(after, count), child);
    return call.finish(CUDA_SUCCESS);
}

CUresult cuGraphConditionalHandleCreate(CUgraphConditionalHandle* handle, CUgraph graph, CUcontext context,
                                        unsigned int value, unsigned int flags) {
    const cuGraphConditionalHandleCreate_params params{handle, graph, context, value, flags};
    api_call call{FAKE_DRIVER_FUNCTION(cuGraphConditionalHandleCreate), &params};
    *handle = gpu().create_condition(value);
    return call.finish(CUDA_SUCCESS);
}

// Conditional nodes alone.
CUresult cuGraphAddNode(CUgraphNode* node, CUgraph graph, const CUgraphNode* after, const CUgraphEdgeData* edges,
                        std::size_t count, CUgraphNodeParams* what) {
    const cuGraphAddNode_v2_params params{node, graph, after, edges, count, what};
    api_call call{FAKE_DRIVER_FUNCTION(cuGraphAddNode_v2), &params};
    if (what->type != CU_GRAPH_NODE_TYPE_CONDITIONAL) {
        return call.finish(CUDA_ERROR_NOT_SUPPORTED);
    }
    CUDA_CONDITIONAL_NODE_PARAMS& conditional = what->conditional;
    const auto type = conditional.type == CU_GRAPH_COND_TYPE_IF      ? CUgraphNode_st::type::if_body
                      : conditional.type == CU_GRAPH_COND_TYPE_WHILE ? CUgraphNode_st::type::while_body
                                                                     : CUgraphNode_st::type::switch_body;
    *node = gpu().add_conditional(graph, nodes_of(after, count), type, conditional.handle, conditional.size);
    conditional.phGraph_out = (*node)->inner_handles.data();
    return call.finish(CUDA_SUCCESS);
}

CUresult cuGraphInstantiate(CUgraphExec* exec, CUgraph graph, unsigned long long flags) {
    const cuGraphInstantiateWithFlags_params params{exec, graph, flags};
    api_call call{FAKE_DRIVER_FUNCTION(cuGraphInstantiateWithFlags), &params};
    *exec = gpu().instantiate(graph);
    return call.finish(CUDA_SUCCESS);
}

CUresult cuGraphExecUpdate(CUgraphExec exec, CUgraph graph, CUgraphExecUpdateResultInfo* result) {
    const cuGraphExecUpdate_v2_params params{exec, graph, result};
    api_call call{FAKE_DRIVER_FUNCTION(cuGraphExecUpdate_v2), &params};
    const bool is_updated = gpu().update(exec, graph);
    *result = {};
    result->result = is_updated ? CU_GRAPH_EXEC_UPDATE_SUCCESS : CU_GRAPH_EXEC_UPDATE_ERROR_TOPOLOGY_CHANGED;
    return call.finish(is_updated ? CUDA_SUCCESS : CUDA_ERROR_GRAPH_EXEC_UPDATE_FAILURE);
}

CUresult cuGraphLaunch(CUgraphExec exec, CUstream stream) {
    const cuGraphLaunch_params params{exec, stream};
    api_call call{FAKE_DRIVER_FUNCTION(cuGraphLaunch), &params};
    const CUstream resolved = gpu().resolve_stream(stream, current_context());
    if (exec == nullptr || resolved == nullptr) {
        return call.finish(CUDA_ERROR_INVALID_HANDLE);
    }
    gpu().launch_graph(exec, resolved, call.correlation_id());
    return call.finish(CUDA_SUCCESS);
}

CUresult cuGraphDestroy(CUgraph graph) {
    const cuGraphDestroy_params params{graph};
    api_call call{FAKE_DRIVER_FUNCTION(cuGraphDestroy), &params};
    gpu().destroy_graph(graph);
    return call.finish(CUDA_SUCCESS);
}

CUresult cuGraphExecDestroy(CUgraphExec exec) {
    const cuGraphExecDestroy_params params{exec};
    api_call call{FAKE_DRIVER_FUNCTION(cuGraphExecDestroy), &params};
    gpu().destroy_graph_exec(exec);
    return call.finish(CUDA_SUCCESS);
}

}  // extern "C"
