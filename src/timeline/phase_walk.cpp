// SPDX-License-Identifier: Apache-2.0
// The part of thread_walk for phases among a program's own ranges (docs/guide/phases.md). A phase begins where its
// beginning is observed, which may be inside a range that the program opened before.
#include <string_view>

#include "record/label.hpp"
#include "timeline/thread_walk.hpp"

namespace prof {

bool thread_walk::is_phase(const timeline_range& range) const {
    return range.domain < out_->domains.size() && out_->domains[range.domain].name == phase_domain;
}

// Whether the range is a phase that has ended.
bool thread_walk::was_phase(std::uint32_t index) const {
    return index != npos && out_->ranges[index].end_ns != 0 && is_phase(out_->ranges[index]);
}

// An optimizer may call its closure inside the range that PyTorch makes for its step. If a phase begins there, the
// optimizer's phase has ended, and PyTorch's range no longer encloses what follows: it is set aside until its pop.
void thread_walk::leave_optimizer() {
    constexpr std::string_view of_optimizer = "Optimizer.step#";
    const std::uint32_t index = open_.innermost();
    if (index == npos) return;
    timeline_range& range = out_->ranges[index];
    if (range.domain != 0 || out_->name(range.name).substr(0, of_optimizer.size()) != of_optimizer) return;
    if (!was_phase(range.parent)) return;
    range.left_ns = now_ns_;
    open_.remove(open_.size() - 1);
    set_aside_[range.domain].push_back(index);
}

// A step ends where the next begins, so a loop's own range for an iteration opens in the previous step. It belongs to
// this step, which is therefore inserted below it. A range that was open when the previous step began encloses the
// steps.
void thread_walk::open_step(std::uint32_t index) {
    const std::uint32_t before = latest_step_;
    latest_step_ = index;
    if (open_.has_floor()) return open_.push(index);
    std::size_t position = 0;
    for (; position < open_.size() && (before == npos || open_.range_at(position) < before); ++position) {
        const std::uint32_t around = open_.range_at(position);
        if (was_phase(out_->ranges[around].parent)) hang(around, position == 0 ? npos : open_.range_at(position - 1));
    }
    hang(index, position == 0 ? npos : open_.range_at(position - 1));
    open_.insert(position, index);
    for (std::size_t inside = position + 1; inside < open_.size(); ++inside) {
        const std::uint32_t parent = out_->ranges[open_.range_at(inside)].parent;
        hang(open_.range_at(inside), was_phase(parent) || parent == npos ? index : parent);
    }
}

void thread_walk::hang(std::uint32_t index, std::uint32_t parent) {
    timeline_range& range = out_->ranges[index];
    range.parent = parent;
    range.depth = parent == npos ? 0 : out_->ranges[parent].depth + 1;
    if (parent != npos) range.works_for = out_->ranges[parent].works_for;
}

}  // namespace prof
