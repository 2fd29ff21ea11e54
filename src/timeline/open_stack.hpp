// SPDX-License-Identifier: Apache-2.0
// The push/pop ranges that are open on one thread while its records are walked, and the open_nodes that represent them.
//
// NVTX keeps a stack per domain: a pop closes the latest range of its domain, which need not be the thread's latest.
// The nodes form a persistent list (timeline.hpp), so a state once taken stays valid. Pushing costs one node; popping
// from the middle costs one for each range above.
//
// Between adopt_push and adopt_pop a thread works for another one, and what it had open before is set aside. The stack
// then has a *floor*: the first range above it begins a list of its own, whose open_node::aside leads to what is set
// aside.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "timeline/timeline.hpp"

namespace prof {

// TNode: open_node, or torch_node.
template <typename TNode>
class basic_open_stack {
    using node_id = row_index<TNode>;

public:
    // New nodes are appended to `nodes`, whose first element has the index `first_index`.
    explicit basic_open_stack(std::vector<TNode>& nodes, std::uint32_t first_index = 0) noexcept
        : nodes_(&nodes), first_index_(first_index) {}

    void push(range_id range);
    // Inserts at `position`, below the ranges that are there. REQUIRES: nothing is set aside.
    void insert(std::size_t position, range_id range);
    // What was launched in the range at `position` since it was pushed counts for the range below it, too, instead of
    // what was below it then. REQUIRES: nothing is set aside.
    void hang_since_push(std::size_t position);
    // Puts the range at `position` + 1 below the one at `position`, also for what was launched in them. REQUIRES: the
    // same; they were pushed in this order.
    void exchange(std::size_t position);
    bool has_floor() const noexcept { return !floors_.empty(); }
    // Removes the range at `position`, counted from the one opened first.
    void remove(std::size_t position);
    void clear() noexcept {
        open_.clear();
        floors_.clear();
    }

    // Sets aside what is open, until lower_floor(). Ranges opened in between and still open then stay on top.
    void raise_floor() { floors_.push_back(open_.size()); }
    void lower_floor() noexcept { floors_.pop_back(); }

    std::size_t size() const noexcept { return open_.size(); }
    range_id range_at(std::size_t position) const noexcept { return open_[position].range; }
    // The innermost range that is not set aside; npos if none.
    range_id innermost() const noexcept { return at_floor() ? npos : open_.back().range; }
    // The node of the innermost range, which represents the whole state as a list.
    node_id head() const noexcept { return at_floor() ? npos : open_.back().node; }
    // The same including what is set aside.
    node_id head_on_thread() const noexcept { return open_.empty() ? npos : open_.back().node; }

private:
    struct entry {
        range_id range = npos;
        node_id node = npos;
        node_id first = npos;    // node that its push made; those of what is pushed later come after it
        bool is_lowest = false;  // first of its list: what is below was set aside when it was opened
    };

    bool at_floor() const noexcept { return open_.size() <= (floors_.empty() ? 0 : floors_.back()); }
    node_id add_node(range_id range, node_id below, bool is_lowest);

    std::vector<TNode>* nodes_;
    std::uint32_t first_index_;
    std::vector<entry> open_;          // in order of opening
    std::vector<std::size_t> floors_;  // positions, ascending
};

using open_stack = basic_open_stack<open_node>;
using torch_stack = basic_open_stack<torch_node>;

}  // namespace prof
