// SPDX-License-Identifier: Apache-2.0
#include "timeline/captured_nodes.hpp"

#include <algorithm>
#include <tuple>

namespace prof {
namespace {

// The longest chain of copies, which is as long as graphs are nested. The bound ends cycles in a damaged capture.
constexpr int most_copies = 64;

}  // namespace

void graph_node_events::sort() {
    // Each copy also has a record as a node, which must come first even in the same nanosecond.
    std::sort(events_.begin(), events_.end(), [](const event& a, const event& b) {
        return std::tuple{a.id, a.time_ns, a.node == npos, a.node, a.original} <
               std::tuple{b.id, b.time_ns, b.node == npos, b.node, b.original};
    });
}

const graph_node_events::event* graph_node_events::latest(std::uint64_t id, std::int64_t time_ns) const {
    const auto after = std::upper_bound(events_.begin(), events_.end(), std::pair{id, time_ns},
                                        [](const auto& wanted, const event& e) {
                                            return wanted < std::pair{e.id, e.time_ns};
                                        });
    if (after == events_.begin() || std::prev(after)->id != id) return nullptr;
    return &*std::prev(after);
}

graph_node_id graph_node_events::find_origin(std::uint64_t id, std::int64_t time_ns) const {
    const event* at = latest(id, time_ns);
    for (int copies = 0; at != nullptr && at->node == npos && copies < most_copies; ++copies) {
        at = latest(at->original, at->time_ns);
    }
    return at == nullptr || at->node == npos ? graph_capture_unseen : at->node;
}

}  // namespace prof
