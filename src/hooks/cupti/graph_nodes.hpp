// SPDX-License-Identifier: Apache-2.0
// Records when nodes of CUDA graphs are made and destroyed. The analysis later derives from these events under which
// ranges a node was captured.
//
// CUPTI runs these callbacks on the thread that captures, builds, instantiates or updates a graph, never at a graph
// launch. A node costs one clock read, two calls of CUPTI and one ring write. Instantiating a graph copies each of its
// nodes, and each copy has two events: first as a new node, then as the copy of another. A node of an inner graph moves
// into the outer one when that is instantiated. It then gets an event as the copy of what it was (inner_nodes.hpp).
#pragma once

#include <cupti.h>

#include <cstdint>

namespace prof {

// A node of an executable now stands for a node of another graph. CUPTI reports this since 13.0.
inline constexpr auto graph_node_updated = static_cast<CUpti_CallbackIdResource>(22);

inline constexpr CUpti_CallbackIdResource graph_node_events[] = {
    CUPTI_CBID_RESOURCE_GRAPH_CREATED,     CUPTI_CBID_RESOURCE_GRAPHNODE_CREATED,
    CUPTI_CBID_RESOURCE_GRAPHNODE_CLONED,  CUPTI_CBID_RESOURCE_GRAPHNODE_DESTROY_STARTING,
    CUPTI_CBID_RESOURCE_GRAPHEXEC_CREATED, graph_node_updated,
};

// The CUPTI functions that a node's event needs.
struct graph_questions {
    decltype(&cuptiGetGraphId) graph_id = nullptr;
    decltype(&cuptiGetGraphNodeId) node_id = nullptr;
};

// Writes the event to the calling thread's ring, if a recording is running or graphs are observed.
void note_graph_event(CUpti_CallbackId event, const CUpti_ResourceData& resource, const graph_questions& ask) noexcept;

// Call it at the entry and at the exit of a call that instantiates a graph.
void note_instantiation(const CUpti_CallbackData& call, const graph_questions& ask) noexcept;

}  // namespace prof
