// The ranges under which the nodes of CUDA graphs were captured, placed under each launch of the graph.
//
// Which of the ranges open at a node's capture count: those opened since the capture began (by the last call before the
// node that began one, on its thread or on the thread it worked for; all where there was none; calls that began the
// capture of another graph, as that of a conditional node's body in the midst of this one, left out). Those that
// enclose the whole capture count only where the launch itself has no range open. One that is still open at the launch
// counts there.
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

// What was open when a node was captured, as lists of open nodes: on its own thread, and on the one that adopted it.
struct captured_at {
    std::uint32_t open = npos;
    std::uint32_t adopted_open = npos;
    bool is_ambiguous = false;  // it may have been captured for several threads
};

class graph_ranges {
public:
    // Adds to `att`, in which the operations' open ranges stand already.
    graph_ranges(const timeline& data, attribution& att);

    // `find` gives, for a node and the first of its operations, what was open at its capture; it is called once a node.
    using finder = std::function<captured_at(const timeline_graph_node& node, const gpu_op& first)>;
    void add(const finder& find);

private:
    // What nodes that were captured in the same state of things count for, outermost first.
    struct state {
        std::vector<std::uint32_t> ranges;
        std::size_t enclosing = 0;  // the first so many were open when the capture began
        bool is_ambiguous = false;
    };

    std::uint32_t state_of(const timeline_graph_node& node, const captured_at& at);
    std::int64_t capture_began_ns(const timeline_graph_node& node, const captured_at& at) const;
    std::int64_t capture_began_ns(std::uint32_t thread, const timeline_graph_node& node) const;
    const open_node& list_node(std::uint32_t index) const noexcept;
    std::uint32_t place(std::uint32_t op, const state& captured);
    std::uint32_t child(std::uint32_t launch, std::uint32_t parent, std::uint32_t range, std::uint32_t depth);

    const timeline& data_;
    attribution& att_;
    struct begun_capture {
        std::int64_t time_ns = 0;
        std::int64_t first_node_ns = INT64_MAX;
        std::uint32_t graph = 0;  // that the thread's first node since is in; 0: unknown
    };
    std::vector<std::vector<begun_capture>> captures_;  // per thread, by time
    std::vector<state> states_;
    std::map<std::tuple<std::uint32_t, std::uint32_t, std::int64_t, bool>, std::uint32_t> known_states_;
    std::unordered_map<std::uint64_t, std::uint32_t> placed_;  // launch << 32 | state → replayed range
    std::map<std::tuple<std::uint32_t, std::uint32_t, std::uint32_t>, std::uint32_t>
        children_;  // launch, parent, range
};

}  // namespace prof
