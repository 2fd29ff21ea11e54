// SPDX-License-Identifier: Apache-2.0
#include "timeline/open_stack.hpp"

namespace prof {

template <typename TNode>
auto basic_open_stack<TNode>::add_node(range_id range, node_id below, bool is_lowest) -> node_id {
    nodes_->push_back({.range = range, .below = is_lowest ? npos : below, .aside = is_lowest ? below : npos});
    return node_id(first_index_ + nodes_->size() - 1);
}

template <typename TNode>
void basic_open_stack<TNode>::push(range_id range) {
    const bool is_lowest = at_floor();
    const node_id node = add_node(range, head_on_thread(), is_lowest);
    open_.push_back({range, node, node, is_lowest});
}

template <typename TNode>
void basic_open_stack<TNode>::insert(std::size_t position, range_id range) {
    open_.insert(open_.begin() + static_cast<std::ptrdiff_t>(position), entry{.range = range});
    for (std::size_t i = position; i < open_.size(); ++i) {
        open_[i].is_lowest = i == 0;
        open_[i].node = add_node(open_[i].range, i == 0 ? npos : open_[i - 1].node, i == 0);
    }
    open_[position].first = open_[position].node;
}

template <typename TNode>
void basic_open_stack<TNode>::hang_since_push(std::size_t position) {
    const entry& of = open_[position];
    const node_id below = position == 0 ? npos : open_[position - 1].node;
    for (std::size_t i = of.first - first_index_; i < nodes_->size(); ++i) {
        if ((*nodes_)[i].range == of.range) (*nodes_)[i].below = below;
    }
}

template <typename TNode>
void basic_open_stack<TNode>::exchange(std::size_t position) {
    const entry outer = open_[position];
    const entry inner = open_[position + 1];
    const node_id lowest = add_node(inner.range, position == 0 ? npos : open_[position - 1].node, position == 0);
    // A list that leads through both has the inner one's node first, which becomes one of the outer range.
    for (std::size_t i = outer.first - first_index_; i + 1 < nodes_->size(); ++i) {
        TNode& node = (*nodes_)[i];
        if (node.range == outer.range) node.below = lowest;
    }
    for (std::size_t i = outer.first - first_index_; i + 1 < nodes_->size(); ++i) {
        TNode& node = (*nodes_)[i];
        if (node.range != inner.range || node.below == npos) continue;
        if (node.below >= first_index_ && (*nodes_)[node.below - first_index_].range == outer.range) {
            node = {.range = outer.range, .below = lowest, .aside = npos};
        }
    }
    open_[position] = {inner.range, lowest, outer.first, position == 0};
    open_[position + 1] = {outer.range, inner.node, outer.first, false};
}

template <typename TNode>
void basic_open_stack<TNode>::remove(std::size_t position) {
    const bool was_lowest = open_[position].is_lowest;
    open_.erase(open_.begin() + static_cast<std::ptrdiff_t>(position));
    for (std::size_t& floor : floors_) {
        if (floor > position) --floor;
    }
    for (std::size_t i = position; i < open_.size(); ++i) {
        open_[i].is_lowest = open_[i].is_lowest || (was_lowest && i == position);
        open_[i].node = add_node(open_[i].range, i == 0 ? npos : open_[i - 1].node, open_[i].is_lowest);
    }
}

template class basic_open_stack<open_node>;
template class basic_open_stack<torch_node>;

}  // namespace prof
