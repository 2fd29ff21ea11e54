#include "timeline/open_stack.hpp"

namespace prof {

std::uint32_t open_stack::add_node(std::uint32_t range, std::uint32_t below) {
    nodes_->push_back({.range = range, .below = below});
    return first_index_ + static_cast<std::uint32_t>(nodes_->size() - 1);
}

void open_stack::push(std::uint32_t range) { open_.push_back({range, add_node(range, head()), at_floor()}); }

void open_stack::remove(std::size_t position) {
    const bool was_lowest = open_[position].is_lowest;
    std::uint32_t below = was_lowest ? npos : open_[position - 1].node;
    open_.erase(open_.begin() + static_cast<std::ptrdiff_t>(position));
    for (std::size_t& floor : floors_) {
        if (floor > position) --floor;
    }
    for (std::size_t i = position; i < open_.size() && !open_[i].is_lowest; ++i) {
        open_[i].node = add_node(open_[i].range, below);
        open_[i].is_lowest = was_lowest && i == position;
        below = open_[i].node;
    }
}

}  // namespace prof
