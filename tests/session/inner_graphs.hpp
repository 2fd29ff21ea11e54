// SPDX-License-Identifier: Apache-2.0
// Graphs inside graphs, and updated ones, for victims.
#pragma once

#include <cuda_runtime_api.h>

#include <functional>

#include "session/scenes.hpp"

namespace prof::test {

inline void capture_into(cudaGraph_t graph, cudaStream_t stream, const std::function<void()>& what) {
    expect(cudaStreamBeginCaptureToGraph(stream, graph, nullptr, nullptr, 0, cudaStreamCaptureModeRelaxed) == 0,
           "a capture begins");
    what();
    expect(cudaStreamEndCapture(stream, nullptr) == 0, "a capture ends");
}

// A graph of one `if`, which is true; `fill` gets its body.
inline cudaGraph_t graph_with_body(const std::function<void(cudaGraph_t)>& fill) {
    cudaGraph_t graph = nullptr;
    cudaGraphNode_t node = nullptr;
    cudaGraphNodeParams what{};
    what.type = cudaGraphNodeTypeConditional;
    what.conditional.type = cudaGraphCondTypeIf;
    what.conditional.size = 1;
    expect(cudaGraphCreate(&graph, 0) == 0, "a graph");
    expect(cudaGraphConditionalHandleCreate(&what.conditional.handle, graph, 1, cudaGraphCondAssignDefault) == 0,
           "a condition");
    expect(cudaGraphAddNode(&node, graph, nullptr, nullptr, 0, &what) == 0, "a conditional node");
    fill(what.conditional.phGraph_out[0]);
    return graph;
}

// `inner` is destroyed.
inline cudaGraph_t as_child(cudaGraph_t inner) {
    cudaGraph_t outer = nullptr;
    cudaGraphNode_t node = nullptr;
    expect(cudaGraphCreate(&outer, 0) == 0, "a graph");
    expect(cudaGraphAddChildGraphNode(&node, outer, nullptr, 0, inner) == 0, "a child");
    expect(cudaGraphDestroy(inner) == 0, "a graph is destroyed");
    return outer;
}

// `by` is destroyed.
inline void update_by(cudaGraphExec_t exec, cudaGraph_t by) {
    cudaGraphExecUpdateResultInfo result{};
    expect(cudaGraphExecUpdate(exec, by, &result) == 0, "an update");
    expect(cudaGraphDestroy(by) == 0, "a graph is destroyed");
}

}  // namespace prof::test
