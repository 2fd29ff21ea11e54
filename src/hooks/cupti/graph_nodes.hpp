// Nodes of CUDA graphs, as they are made and destroyed: what tells later under which ranges a node was captured.
//
// CUPTI calls back on the thread that captures, builds or instantiates a graph. Nothing of it happens when a graph is
// launched. One clock read, two calls of CUPTI and one ring write for a node; instantiating a graph copies each of its
// nodes, and a copy is told of twice: as a new node, then as the copy of another.
#pragma once

#include <cupti.h>

#include <cstdint>

namespace prof {

inline constexpr CUpti_CallbackIdResource graph_node_events[] = {
    CUPTI_CBID_RESOURCE_GRAPHNODE_CREATED,
    CUPTI_CBID_RESOURCE_GRAPHNODE_CLONED,
    CUPTI_CBID_RESOURCE_GRAPHNODE_DESTROY_STARTING,
};

// Writes the event to the calling thread's ring, if something is recorded. `node_id` is cuptiGetGraphNodeId.
void note_graph_node(CUpti_CallbackId event, const CUpti_ResourceData& resource,
                     decltype(&cuptiGetGraphNodeId) node_id) noexcept;

}  // namespace prof
