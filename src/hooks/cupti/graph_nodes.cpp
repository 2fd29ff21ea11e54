#include "hooks/cupti/graph_nodes.hpp"

#include "record/clock.hpp"
#include "ring/registry.hpp"

namespace prof {

void note_graph_node(CUpti_CallbackId event, const CUpti_ResourceData& resource,
                     decltype(&cuptiGetGraphNodeId) node_id) noexcept {
    producer* out = recording_producer();
    if (out == nullptr || node_id == nullptr || resource.resourceDescriptor == nullptr) return;
    const auto& graph = *static_cast<const CUpti_GraphData*>(resource.resourceDescriptor);
    record r;
    r.kind = record_kind::graph_node;
    const bool is_clone = event == CUPTI_CBID_RESOURCE_GRAPHNODE_CLONED;
    std::uint64_t original = 0;
    if (node_id(graph.node, &r.value) != CUPTI_SUCCESS ||
        (is_clone && node_id(graph.originalNode, &original) != CUPTI_SUCCESS)) {
        out->where().count_drop(drop_cause::cupti_error);
        return;
    }
    if (event == CUPTI_CBID_RESOURCE_GRAPHNODE_DESTROY_STARTING) r.kind = record_kind::graph_node_gone;
    if (is_clone) {
        r.kind = record_kind::graph_clone;
        r.name = static_cast<std::uint32_t>(original);
        r.color = static_cast<std::uint32_t>(original >> 32);
    }
    r.ticks = ticks_now();
    out->write(r);
}

}  // namespace prof
