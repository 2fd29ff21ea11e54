// SPDX-License-Identifier: Apache-2.0
// Which call of a module was under way on a thread at a moment, and which call made a node of autograd's: prof.modules'
// ranges (record/label.hpp), and those of PyTorch's observer for backward nodes, put in order. docs/guide/modules.md
// has the rules. A pure function of a timeline; memory linear in its ranges.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <unordered_map>
#include <vector>

#include "timeline/timeline.hpp"

namespace prof {

// Where a node of autograd's was made.
enum class made_in : std::uint8_t {
    module,        // in a call of a module
    no_module,     // outside any, on a thread whose calls were recorded
    accumulation,  // nowhere: it adds a gradient up (AccumulateGrad)
    unknown,       // it has no number, or several threads could have made it
};
struct maker_of_node {
    made_in where = made_in::unknown;
    range_id call = npos;  // a range; of `module`
};

class module_calls {
public:
    explicit module_calls(const timeline& data) : module_calls(data, 0, data.ranges.size()) {}
    // Of the ranges with these indices alone.
    module_calls(const timeline& data, std::size_t first_range, std::size_t end_range);

    bool empty() const noexcept { return calls_.empty(); }
    bool has_phases() const noexcept {
        return std::any_of(threads_.begin(), threads_.end(), [](const auto& thread) { return thread.has_phases; });
    }
    const std::vector<range_id>& calls() const noexcept { return calls_; }  // ranges; by thread, then by start
    const std::vector<range_id>& nodes() const noexcept { return nodes_; }  // backward nodes, likewise
    // The innermost call, or node, that is open at that time, as a range; npos if there is none.
    range_id call_at(thread_id thread, std::int64_t time_ns) const;
    range_id node_at(thread_id thread, std::int64_t time_ns) const;
    // The same, or without one the node that ended last: the engine handles a node's gradients after the node.
    range_id latest_node_at(thread_id thread, std::int64_t time_ns) const;
    // The node that is open at a launch, or for which the engine does what is before and after it in its range.
    range_id node_of_launch(const timeline_api_call& call) const;
    // When the innermost call or node of a thread changes next; INT64_MAX: never again.
    std::int64_t next_change(thread_id thread, std::int64_t time_ns) const;
    // REQUIRES: one of nodes().
    maker_of_node maker_of(range_id node) const;
    // Its time on the host without that of calls (of nodes) within it.
    std::int64_t self_ns(range_id range) const {
        const auto within = within_ns_.find(range);
        const std::int64_t duration_ns = data_.ranges[range].end_ns - data_.ranges[range].start_ns;
        return duration_ns - (within == within_ns_.end() ? 0 : within->second);
    }

private:
    // From then on this is the innermost range.
    struct change {
        std::int64_t time_ns = 0;
        range_id range = npos;
    };
    // The changes of a thread, in order of time. Questions mostly come in order of time, too.
    struct change_list {
        std::vector<change> all;
        mutable std::size_t latest = 0;  // where the latest search ended

        std::size_t after(std::int64_t time_ns) const;  // index of the first one
        range_id at(std::int64_t time_ns) const;
    };
    // Nodes from this number on were made in this call, until the next segment.
    struct segment {
        std::int64_t sequence = 0;
        std::int64_t time_ns = 0;
        range_id call = npos;
        range_id in_node = npos;  // the backward node that the call is in: it recomputes
    };
    struct thread_entry {
        change_list calls;
        change_list nodes;
        change_list latest_nodes;
        std::vector<segment> segments;  // by sequence
        bool has_phases = false;        // others than those of what nodes recompute
        bool goes_backward = false;     // it begins backwards, and executes nodes that are the CPU's
    };
    bool is_of_engine(const timeline_range& range) const;
    bool is_backward_node(const timeline_range& range) const;
    bool may_be_made_by_engine(const timeline_range& node) const;
    template <typename TBegin, typename TEnd>
    void sweep(const std::vector<range_id>& ranges, change_list thread_entry::*changes, TBegin begin, TEnd end);
    void add_segment(range_id call, std::int64_t sequence, std::int64_t time_ns, range_id now_in);

    const timeline& data_;
    row_values<thread_id, thread_entry> threads_;
    std::int64_t graph_made_ns_ = INT64_MAX;  // the end of the first backward that made a graph
    bool has_engine_ = false;                 // the engine's ranges around nodes were recorded
    std::vector<range_id> calls_;
    std::vector<range_id> nodes_;
    std::vector<thread_id> made_nodes_on_;                  // threads with segments
    std::unordered_map<range_id, std::int64_t> within_ns_;  // range → the time of those of its kind in it
    std::unordered_map<range_id, range_id> around_;         // range → the one of its kind around it
};

}  // namespace prof
