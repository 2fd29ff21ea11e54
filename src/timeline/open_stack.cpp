#include "timeline/open_stack.hpp"

namespace prof {

std::uint32_t open_stack::add_node(std::uint32_t range, std::uint32_t below) {
    nodes_->push_back({.range = range, .below = below});
    return first_index_ + static_cast<std::uint32_t>(nodes_->size() - 1);
}

void open_stack::push(std::uint32_t range) { open_.push_back({range, add_node(range, head())}); }

void open_stack::remove(std::size_t position) {
    std::uint32_t below = position == 0 ? npos : open_[position - 1].node;
    open_.erase(open_.begin() + static_cast<std::ptrdiff_t>(position));
    for (std::size_t i = position; i < open_.size(); ++i) {
        open_[i].node = add_node(open_[i].range, below);
        below = open_[i].node;
    }
}

}  // namespace prof
