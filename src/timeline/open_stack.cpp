// SPDX-License-Identifier: Apache-2.0
#include "timeline/open_stack.hpp"

namespace prof {

std::uint32_t open_stack::add_node(std::uint32_t range, std::uint32_t below, bool is_lowest) {
    nodes_->push_back({.range = range, .below = is_lowest ? npos : below, .aside = is_lowest ? below : npos});
    return first_index_ + static_cast<std::uint32_t>(nodes_->size() - 1);
}

void open_stack::push(std::uint32_t range) {
    const bool is_lowest = at_floor();
    const std::uint32_t node = add_node(range, head_on_thread(), is_lowest);
    open_.push_back({range, node, node, is_lowest});
}

void open_stack::insert(std::size_t position, std::uint32_t range) {
    open_.insert(open_.begin() + static_cast<std::ptrdiff_t>(position), entry{.range = range});
    for (std::size_t i = position; i < open_.size(); ++i) {
        open_[i].is_lowest = i == 0;
        open_[i].node = add_node(open_[i].range, i == 0 ? npos : open_[i - 1].node, i == 0);
    }
    open_[position].first = open_[position].node;
}

void open_stack::hang_since_push(std::size_t position) {
    const entry& of = open_[position];
    const std::uint32_t below = position == 0 ? npos : open_[position - 1].node;
    for (std::size_t i = of.first - first_index_; i < nodes_->size(); ++i) {
        if ((*nodes_)[i].range == of.range) (*nodes_)[i].below = below;
    }
}

void open_stack::exchange(std::size_t position) {
    const entry outer = open_[position];
    const entry inner = open_[position + 1];
    const std::uint32_t lowest = add_node(inner.range, position == 0 ? npos : open_[position - 1].node, position == 0);
    // A list that leads through both has the inner one's node first, which becomes one of the outer range.
    for (std::size_t i = outer.first - first_index_; i + 1 < nodes_->size(); ++i) {
        open_node& node = (*nodes_)[i];
        if (node.range == outer.range) node.below = lowest;
    }
    for (std::size_t i = outer.first - first_index_; i + 1 < nodes_->size(); ++i) {
        open_node& node = (*nodes_)[i];
        if (node.range != inner.range || node.below == npos) continue;
        if (node.below >= first_index_ && (*nodes_)[node.below - first_index_].range == outer.range) {
            node = {.range = outer.range, .below = lowest, .aside = npos};
        }
    }
    open_[position] = {inner.range, lowest, outer.first, position == 0};
    open_[position + 1] = {outer.range, inner.node, outer.first, false};
}

void open_stack::remove(std::size_t position) {
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

}  // namespace prof
