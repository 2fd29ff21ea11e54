// SPDX-License-Identifier: Apache-2.0
// Finds the captured node of a CUDA graph by the node id that an operation of a replay carries.
//
// A launch runs copies: instantiating a graph copies its nodes, and so does cloning it or making it another graph's
// child. Threads record nodes and copies as they make them (record_kind::graph_node, graph_clone). find_origin()
// follows the copies back, in O(log n) a step and at most 64 steps.
//
// Filled, sorted and queried by build_timeline(), on one thread. sort() is O(n log n); memory is 32 bytes for each node
// and copy.
#pragma once

#include <cstdint>
#include <vector>

#include "timeline/timeline.hpp"

namespace prof {

// A call that launched an executable graph, by the graph's id.
struct graph_launch_call {
    std::int64_t start_ns = 0;
    std::uint64_t correlation = 0;
    std::uint32_t graph = 0;
};

class graph_node_events {
public:
    std::vector<graph_launch_call> launches;  // by start_ns

    // `node` is an index into timeline::graph_nodes.
    void add_node(std::uint64_t id, std::int64_t time_ns, graph_node_id node) {
        events_.push_back({id, time_ns, node});
    }
    void add_copy(std::uint64_t id, std::int64_t time_ns, std::uint64_t original) {
        events_.push_back({.id = id, .time_ns = time_ns, .original = original});
    }

    // Call once, before find_origin().
    void sort();

    // Index into timeline::graph_nodes of the captured node, given its id or that of a copy; graph_capture_unseen if it
    // is unknown. If an id was used several times, the latest use that is not after `time_ns` holds. REQUIRES: sort()
    // was called.
    graph_node_id find_origin(std::uint64_t id, std::int64_t time_ns) const;

private:
    struct event {
        std::uint64_t id = 0;
        std::int64_t time_ns = 0;
        graph_node_id node = npos;   // npos: a copy
        std::uint64_t original = 0;  // of a copy
    };

    const event* latest(std::uint64_t id, std::int64_t time_ns) const;

    std::vector<event> events_;
};

}  // namespace prof
