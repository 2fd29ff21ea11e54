// SPDX-License-Identifier: Apache-2.0
#include "hooks/cupti/graph_nodes.hpp"

#include "base/clock.hpp"
#include "hooks/cupti/inner_nodes.hpp"
#include "ring/registry.hpp"

namespace prof {
namespace {

record record_of(record_kind kind, std::uint64_t id, std::uint64_t original = 0) noexcept {
    record r;
    r.kind = kind;
    r.ticks = ticks_now();
    r.value = id;
    r.name = static_cast<std::uint32_t>(original);
    r.color = static_cast<std::uint32_t>(original >> 32);
    return r;
}

// The nodes of an event that matter; `original` is null if the event has only one.
struct nodes_of_event {
    record_kind kind = record_kind::graph_node;
    CUgraphNode node = nullptr;
    CUgraphNode original = nullptr;
};

nodes_of_event nodes_of(CUpti_CallbackId event, const CUpti_GraphData& graph) noexcept {
    if (event == graph_node_updated) return {record_kind::graph_clone, graph.originalNode, graph.node};
    if (event == CUPTI_CBID_RESOURCE_GRAPHNODE_CLONED) {
        return {record_kind::graph_clone, graph.node, graph.originalNode};
    }
    const bool is_gone = event == CUPTI_CBID_RESOURCE_GRAPHNODE_DESTROY_STARTING;
    return {is_gone ? record_kind::graph_node_gone : record_kind::graph_node, graph.node, nullptr};
}

void note_node(producer& out, CUpti_CallbackId event, const CUpti_GraphData& graph,
               decltype(&cuptiGetGraphNodeId) node_id) noexcept {
    const nodes_of_event nodes = nodes_of(event, graph);
    std::uint64_t id = 0;
    std::uint64_t original = 0;
    if (node_id(nodes.node, &id) != CUPTI_SUCCESS ||
        (nodes.original != nullptr && node_id(nodes.original, &original) != CUPTI_SUCCESS)) {
        out.where().count_drop(drop_cause::cupti_error);
        return;
    }
    record r = record_of(nodes.kind, id, original);
    if (event == graph_node_updated) r.flags = replaces_what_it_was;
    out.write(r);
    if (event == CUPTI_CBID_RESOURCE_GRAPHNODE_CLONED && !remember_inner_node(nodes.node, id)) {
        out.where().count_drop(drop_cause::graph_memory_full);
    }
}

// A node with a new id gets a record for the new id, and one that ends the meaning of the old id.
void note_moved_nodes(producer& out, decltype(&cuptiGetGraphNodeId) node_id) noexcept {
    take_inner_nodes([&](const inner_node& inner) {
        std::uint64_t id = 0;
        if (node_id(inner.node, &id) != CUPTI_SUCCESS) {
            out.where().count_drop(drop_cause::cupti_error);
        } else if (id != inner.id) {
            out.write(record_of(record_kind::graph_node, id));
            out.write(record_of(record_kind::graph_clone, id, inner.id));
            out.write(record_of(record_kind::graph_node_gone, inner.id));
        }
    });
}

}  // namespace

void note_graph_event(CUpti_CallbackId event, const CUpti_ResourceData& resource, const graph_questions& ask) noexcept {
    if (resource.resourceDescriptor == nullptr) return;
    const auto& graph = *static_cast<const CUpti_GraphData*>(resource.resourceDescriptor);
    const bool may_move = is_instantiating(epoch_of(recording_epoch));
    if (event == CUPTI_CBID_RESOURCE_GRAPH_CREATED) {
        std::uint32_t id = 0;
        if (may_move && ask.graph_id != nullptr && ask.graph_id(graph.graph, &id) == CUPTI_SUCCESS) {
            note_graph_id(id);
        }
        return;
    }
    if (may_move && event == CUPTI_CBID_RESOURCE_GRAPHNODE_DESTROY_STARTING) forget_inner_node(graph.node);
    const recording_scope out;
    if (!out || ask.node_id == nullptr) return;
    if (event == CUPTI_CBID_RESOURCE_GRAPHEXEC_CREATED) {
        note_moved_nodes(*out, ask.node_id);
    } else {
        note_node(*out, event, graph, ask.node_id);
    }
}

void note_instantiation(const CUpti_CallbackData& call, const graph_questions& ask) noexcept {
    const std::uint32_t epoch = epoch_of(recording_epoch);
    if (call.callbackSite == CUPTI_API_ENTER) return begin_instantiation(epoch);
    const auto* const result = static_cast<const CUresult*>(call.functionReturnValue);
    const recording_scope out;
    // CUPTI usually reports the executable before this point. If it did not, the nodes have moved by now all the same.
    const bool has_made_it = result != nullptr && *result == CUDA_SUCCESS;
    if (is_instantiating(epoch) && has_made_it && out && ask.node_id != nullptr) {
        note_moved_nodes(*out, ask.node_id);
    }
    end_instantiation();
}

}  // namespace prof
