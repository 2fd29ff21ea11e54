// SPDX-License-Identifier: Apache-2.0
// What the driver's opaque handles point to: CUDA's headers declare these types and leave them to the driver.
//
// Fields that change are guarded by simulated_gpu's lock; the rest is constant after creation.
#pragma once

#include <cuda.h>

#include <atomic>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "fakes/fake_gpu.h"

struct CUctx_st {
    std::uint32_t id = 0;
    std::uint32_t device = 0;
};

struct CUfunc_st {
    std::string name;
    std::atomic<std::uint64_t> duration_ns = 10'000;
};

// A node is a prepared operation, or a graph of its own (a child), or a condition with graphs of its own (bodies); and
// the nodes of the same graph that must end before it starts.
struct CUgraphNode_st {
    enum class type {
        operation,
        child,
        if_body,
        while_body,
        switch_body,
        helper
    };  // helper: of CUPTI's own, never runs

    std::uint64_t id = 0;  // the graph's above the index within it; another where the node moves to another graph
    type what = type::operation;
    fake_gpu_operation operation{};
    std::uint64_t duration_ns = 0;
    std::vector<CUgraphNode_st*> dependencies;
    CUgraphNode_st* original = nullptr;  // an executable graph's node: the one it was cloned from

    std::uint64_t condition = 0;  // the handle
    std::vector<std::unique_ptr<CUgraph_st>> inner;
    std::vector<CUgraph> inner_handles;                // what the client has of them
    std::vector<std::vector<CUgraphNode_st*>> bodies;  // of an executable graph: their nodes have moved out
    bool is_in_body = false;
};

inline bool is_conditional(const CUgraphNode_st& node) {
    return node.what == CUgraphNode_st::type::if_body || node.what == CUgraphNode_st::type::while_body ||
           node.what == CUgraphNode_st::type::switch_body;
}

struct CUgraph_st {
    std::uint32_t id = 0;
    std::uint32_t next_index = 0;
    std::vector<std::unique_ptr<CUgraphNode_st>> nodes;  // in an order that respects dependencies
};

struct CUgraphExec_st {
    std::uint32_t id = 0;           // the clone's
    CUgraph_st graph;               // the clone, in which all nodes of graphs inside have come to lie
    CUgraph_st temporary;           // CUPTI reports it and one of its nodes
    std::uint32_t body_stream = 0;  // the stream that CUPTI gives for kernels in bodies
};

struct CUstream_st {
    std::uint32_t id = 0;
    CUcontext context = nullptr;
    bool is_legacy_default = false;
    bool is_blocking = false;  // synchronises with the legacy default stream
    std::uint64_t free_at_ns = 0;
    // While the stream is being captured: the graph, and the nodes that the next one depends on.
    CUgraph capture = nullptr;
    bool is_capture_origin = false;
    std::vector<CUgraphNode_st*> capture_tail{};
};

struct CUevent_st {
    std::uint64_t time_ns = 0;
    bool is_recorded = false;
    CUgraph capture = nullptr;
    std::vector<CUgraphNode_st*> capture_tail{};
};
