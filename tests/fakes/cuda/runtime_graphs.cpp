// SPDX-License-Identifier: Apache-2.0
// cuda*: graphs.
#include "fakes/cuda/runtime.hpp"

using fake::runtime_call;

extern "C" {

cudaError_t cudaStreamBeginCapture(cudaStream_t stream, cudaStreamCaptureMode mode) {
    const cudaStreamBeginCapture_v10000_params params{stream, mode};
    return runtime_call(FAKE_RUNTIME_FUNCTION(cudaStreamBeginCapture, v10000), &params,
                        [&] { return cuStreamBeginCapture(stream, static_cast<CUstreamCaptureMode>(mode)); });
}

cudaError_t cudaStreamBeginCaptureToGraph(cudaStream_t stream, cudaGraph_t graph, const cudaGraphNode_t* after,
                                          const cudaGraphEdgeData* edges, std::size_t count,
                                          cudaStreamCaptureMode mode) {
    const cudaStreamBeginCaptureToGraph_v12030_params params{stream, graph, after, edges, count, mode};
    return runtime_call(FAKE_RUNTIME_FUNCTION(cudaStreamBeginCaptureToGraph, v12030), &params, [&] {
        return cuStreamBeginCaptureToGraph(stream, graph, after, nullptr, count,
                                           static_cast<CUstreamCaptureMode>(mode));
    });
}

cudaError_t cudaStreamGetCaptureInfo(cudaStream_t stream, cudaStreamCaptureStatus* status, unsigned long long* id,
                                     cudaGraph_t* graph, const cudaGraphNode_t** after, const cudaGraphEdgeData** edges,
                                     std::size_t* count) {
    const cudaStreamGetCaptureInfo_v12030_params params{stream, status, id, graph, after, edges, count};
    return runtime_call(FAKE_RUNTIME_FUNCTION(cudaStreamGetCaptureInfo, v12030), &params, [&] {
        CUstreamCaptureStatus found{};
        const CUresult result = cuStreamGetCaptureInfo(stream, &found, nullptr, graph, after, nullptr, count);
        *status = static_cast<cudaStreamCaptureStatus>(found);
        return result;
    });
}

cudaError_t cudaStreamUpdateCaptureDependencies(cudaStream_t stream, cudaGraphNode_t* after,
                                                const cudaGraphEdgeData* edges, std::size_t count, unsigned int flags) {
    const cudaStreamUpdateCaptureDependencies_v12030_params params{stream, after, edges, count, flags};
    return runtime_call(FAKE_RUNTIME_FUNCTION(cudaStreamUpdateCaptureDependencies, v12030), &params,
                        [&] { return cuStreamUpdateCaptureDependencies(stream, after, nullptr, count, flags); });
}

cudaError_t cudaStreamEndCapture(cudaStream_t stream, cudaGraph_t* graph) {
    const cudaStreamEndCapture_v10000_params params{stream, graph};
    return runtime_call(FAKE_RUNTIME_FUNCTION(cudaStreamEndCapture, v10000), &params,
                        [&] { return cuStreamEndCapture(stream, graph); });
}

cudaError_t cudaGraphCreate(cudaGraph_t* graph, unsigned int flags) {
    const cudaGraphCreate_v10000_params params{graph, flags};
    return runtime_call(FAKE_RUNTIME_FUNCTION(cudaGraphCreate, v10000), &params,
                        [&] { return cuGraphCreate(graph, flags); });
}

cudaError_t cudaGraphAddChildGraphNode(cudaGraphNode_t* node, cudaGraph_t graph, const cudaGraphNode_t* after,
                                       std::size_t count, cudaGraph_t child) {
    const cudaGraphAddChildGraphNode_v10000_params params{node, graph, after, count, child};
    return runtime_call(FAKE_RUNTIME_FUNCTION(cudaGraphAddChildGraphNode, v10000), &params,
                        [&] { return cuGraphAddChildGraphNode(node, graph, after, count, child); });
}

cudaError_t cudaGraphConditionalHandleCreate(cudaGraphConditionalHandle* handle, cudaGraph_t graph, unsigned int value,
                                             unsigned int flags) {
    const cudaGraphConditionalHandleCreate_v12030_params params{handle, graph, value, flags};
    return runtime_call(FAKE_RUNTIME_FUNCTION(cudaGraphConditionalHandleCreate, v12030), &params, [&] {
        CUgraphConditionalHandle made = 0;
        const CUresult result = cuGraphConditionalHandleCreate(&made, graph, nullptr, value, flags);
        *handle = made;
        return result;
    });
}

// Conditional nodes alone.
cudaError_t cudaGraphAddNode(cudaGraphNode_t* node, cudaGraph_t graph, const cudaGraphNode_t* after,
                             const cudaGraphEdgeData* edges, std::size_t count, cudaGraphNodeParams* what) {
    const cudaGraphAddNode_v12030_params params{node, graph, after, edges, count, what};
    return runtime_call(FAKE_RUNTIME_FUNCTION(cudaGraphAddNode, v12030), &params, [&] {
        CUgraphNodeParams driver{};
        driver.type = static_cast<CUgraphNodeType>(what->type);
        driver.conditional.handle = what->conditional.handle;
        driver.conditional.type = static_cast<CUgraphConditionalNodeType>(what->conditional.type);
        driver.conditional.size = what->conditional.size;
        const CUresult result = cuGraphAddNode(node, graph, after, nullptr, count, &driver);
        what->conditional.phGraph_out = driver.conditional.phGraph_out;
        return result;
    });
}

cudaError_t cudaGraphInstantiate(cudaGraphExec_t* exec, cudaGraph_t graph, unsigned long long flags) {
    const cudaGraphInstantiate_v12000_params params{exec, graph, flags};
    return runtime_call(FAKE_RUNTIME_FUNCTION(cudaGraphInstantiate, v12000), &params,
                        [&] { return cuGraphInstantiate(exec, graph, flags); });
}

cudaError_t cudaGraphExecUpdate(cudaGraphExec_t exec, cudaGraph_t graph, cudaGraphExecUpdateResultInfo* info) {
    const cudaGraphExecUpdate_v10020_params params{exec, graph, info};
    return runtime_call(FAKE_RUNTIME_FUNCTION(cudaGraphExecUpdate, v10020), &params, [&] {
        CUgraphExecUpdateResultInfo driver{};
        const CUresult result = cuGraphExecUpdate(exec, graph, &driver);
        *info = {};
        info->result = static_cast<cudaGraphExecUpdateResult>(driver.result);
        return result;
    });
}

cudaError_t cudaGraphLaunch(cudaGraphExec_t exec, cudaStream_t stream) {
    const cudaGraphLaunch_v10000_params params{exec, stream};
    return runtime_call(FAKE_RUNTIME_FUNCTION(cudaGraphLaunch, v10000), &params,
                        [&] { return cuGraphLaunch(exec, stream); });
}

cudaError_t cudaGraphDestroy(cudaGraph_t graph) {
    const cudaGraphDestroy_v10000_params params{graph};
    return runtime_call(FAKE_RUNTIME_FUNCTION(cudaGraphDestroy, v10000), &params,
                        [&] { return cuGraphDestroy(graph); });
}

cudaError_t cudaGraphExecDestroy(cudaGraphExec_t exec) {
    const cudaGraphExecDestroy_v10000_params params{exec};
    return runtime_call(FAKE_RUNTIME_FUNCTION(cudaGraphExecDestroy, v10000), &params,
                        [&] { return cuGraphExecDestroy(exec); });
}

}  // extern "C"
