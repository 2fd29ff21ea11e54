// Nodes of CUDA graphs: where each was captured, found by the id that an operation of a replay carries.
//
// What is launched are copies: instantiating a graph copies its nodes, and so do cloning it and making it another's
// child. Threads tell of nodes and of copies (record_kind::graph_node, graph_clone) as they make them; find_origin()
// follows the copies back. O(log n) a step.
#pragma once

#include <cstdint>
#include <vector>

#include "timeline/timeline.hpp"

namespace prof {

class graph_node_events {
public:
    // `node` is an index into timeline::graph_nodes.
    void add_node(std::uint64_t id, std::int64_t time_ns, std::uint32_t node) {
        events_.push_back({id, time_ns, node});
    }
    void add_copy(std::uint64_t id, std::int64_t time_ns, std::uint64_t original) {
        events_.push_back({.id = id, .time_ns = time_ns, .original = original});
    }

    // To be called once, before find_origin().
    void sort();

    // Index into timeline::graph_nodes of the node that was captured, given the id of it or of a copy, as it was at
    // `time_ns`; graph_capture_unseen if that is unknown. An id used again stands for what it was given to last.
    std::uint32_t find_origin(std::uint64_t id, std::int64_t time_ns) const;

private:
    struct event {
        std::uint64_t id = 0;
        std::int64_t time_ns = 0;
        std::uint32_t node = npos;   // npos: a copy
        std::uint64_t original = 0;  // of a copy
    };

    const event* latest(std::uint64_t id, std::int64_t time_ns) const;

    std::vector<event> events_;
};

}  // namespace prof
