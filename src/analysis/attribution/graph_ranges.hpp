// SPDX-License-Identifier: Apache-2.0
// Places the ranges under which nodes of CUDA graphs were captured under each launch of the graph.
//
// Of the ranges that were open at a node's capture, these count:
// - Ranges opened since the capture began. The begin is the last call before the node that began a capture, on the
//   node's thread or on the thread it worked for. Calls that began the capture of another graph do not count, such as
//   the one for a conditional node's body in the middle of this capture. If there was no such call, all ranges count.
// - Ranges that enclose the whole capture, but only if the launch itself has no range open. One that is still open at
//   the launch counts there.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <tuple>
#include <unordered_map>
#include <vector>

#include "analysis/attribution/attribution.hpp"
#include "timeline/timeline.hpp"

namespace prof {

// The ranges that were open when a node was captured, as lists of open nodes: on its own thread and on the adopting
// one.
struct captured_at {
    open_node_id open = npos;
    open_node_id adopted_open = npos;
    bool is_ambiguous = false;  // several threads may have caused the capture
};

class graph_ranges {
public:
    // REQUIRES: the open ranges of the operations are in `att`. Results are added there.
    graph_ranges(const timeline& data, attribution& att);

    // `find` returns what was open at a node's capture, given the node and the first of its operations. It is called
    // once for each node.
    using finder = std::function<captured_at(const timeline_graph_node& node, const gpu_op& first)>;
    void add(const finder& find);

private:
    // The ranges for which nodes captured in the same state count, outermost first.
    struct state;
    using state_id = row_index<state>;
    struct state {
        std::vector<range_id> ranges;
        std::size_t enclosing = 0;  // the first `enclosing` ranges were open when the capture began
        bool is_ambiguous = false;
    };

    state_id state_of(const timeline_graph_node& node, const captured_at& at);
    std::int64_t capture_began_ns(const timeline_graph_node& node, const captured_at& at) const;
    std::int64_t capture_began_ns(thread_id thread, const timeline_graph_node& node) const;
    replayed_id place(op_id op, const state& captured);
    replayed_id child(call_id launch, replayed_id parent, range_id range, std::uint32_t depth);

    const timeline& data_;
    attribution& att_;
    struct begun_capture {
        std::int64_t time_ns = 0;
        std::int64_t first_node_ns = INT64_MAX;
        std::uint32_t graph = 0;  // the graph of the thread's first node after this begin; 0: unknown
    };
    row_values<thread_id, std::vector<begun_capture>> captures_;  // by thread, then by time
    row_table<state> states_;
    std::map<std::tuple<open_node_id, open_node_id, std::int64_t, bool>, state_id> known_states_;
    std::unordered_map<std::uint64_t, replayed_id> placed_;  // by launch and state
    // Key: launch, parent, range.
    std::map<std::tuple<call_id, replayed_id, range_id>, replayed_id> children_;
};

}  // namespace prof
