// Nodes of CUDA graphs, as they are made and destroyed: from these events follows later under which ranges a node was
// captured.
//
// CUPTI calls back on the thread that captures, builds, instantiates or updates a graph. Nothing of it happens when a
// graph is launched. One clock read, two calls of CUPTI and one ring write for a node; instantiating a graph copies
// each of its nodes, and a copy has two events: as a new node, then as the copy of another. A node of a graph inside
// another moves to that when it is instantiated, and has an event as the copy of what it was (inner_nodes.hpp).
#pragma once

#include <cupti.h>

#include <cstdint>

namespace prof {

// A node of an executable stands for one of another graph from now on. CUPTI has it since 13.0.
inline constexpr auto graph_node_updated = static_cast<CUpti_CallbackIdResource>(22);

inline constexpr CUpti_CallbackIdResource graph_node_events[] = {
    CUPTI_CBID_RESOURCE_GRAPH_CREATED,     CUPTI_CBID_RESOURCE_GRAPHNODE_CREATED,
    CUPTI_CBID_RESOURCE_GRAPHNODE_CLONED,  CUPTI_CBID_RESOURCE_GRAPHNODE_DESTROY_STARTING,
    CUPTI_CBID_RESOURCE_GRAPHEXEC_CREATED, graph_node_updated,
};

// cuptiGetGraphId and cuptiGetGraphNodeId.
struct graph_questions {
    decltype(&cuptiGetGraphId) graph_id = nullptr;
    decltype(&cuptiGetGraphNodeId) node_id = nullptr;
};

// Writes the event to the calling thread's ring, if something is recorded.
void note_graph_event(CUpti_CallbackId event, const CUpti_ResourceData& resource, const graph_questions& ask) noexcept;

// A call that instantiates a graph begins, or ends.
void note_instantiation(const CUpti_CallbackData& call, const graph_questions& ask) noexcept;

}  // namespace prof
