// SPDX-License-Identifier: Apache-2.0
#include "timeline/open_stack.hpp"

namespace prof {

std::uint32_t open_stack::add_node(std::uint32_t range, std::uint32_t below, bool is_lowest) {
    nodes_->push_back({.range = range, .below = is_lowest ? npos : below, .aside = is_lowest ? below : npos});
    return first_index_ + static_cast<std::uint32_t>(nodes_->size() - 1);
}

void open_stack::push(std::uint32_t range) {
    const bool is_lowest = at_floor();
    open_.push_back({range, add_node(range, head_on_thread(), is_lowest), is_lowest});
}

void open_stack::insert(std::size_t position, std::uint32_t range) {
    open_.insert(open_.begin() + static_cast<std::ptrdiff_t>(position), entry{.range = range});
    for (std::size_t i = position; i < open_.size(); ++i) {
        open_[i].is_lowest = i == 0;
        open_[i].node = add_node(open_[i].range, i == 0 ? npos : open_[i - 1].node, i == 0);
    }
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
