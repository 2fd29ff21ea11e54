// SPDX-License-Identifier: Apache-2.0
// The part of thread_walk for phases among a program's own ranges (docs/guide/phases.md). A phase begins where its
// beginning is observed, which may be inside a range that the program opened before.
#include <algorithm>
#include <array>
#include <string_view>
#include <utility>

#include "record/label.hpp"
#include "timeline/thread_walk.hpp"

namespace prof {

bool thread_walk::is_phase(const timeline_range& range) const {
    return range.domain < out_->domains.size() && out_->domains[range.domain].name == phase_domain;
}

// Whether the range is a phase that has ended.
bool thread_walk::was_phase(range_id index) const {
    return index != npos && out_->ranges[index].end_ns != 0 && is_phase(out_->ranges[index]);
}

// An optimizer may call its closure inside the range that PyTorch makes for its step. If a phase begins there, the
// optimizer's phase has ended, and PyTorch's range no longer encloses what follows: it is set aside until its pop.
void thread_walk::leave_optimizer() {
    constexpr std::string_view of_optimizer = "Optimizer.step#";
    const range_id index = open_.innermost();
    if (index == npos) return;
    timeline_range& range = out_->ranges[index];
    if (range.domain != 0 || out_->name(range.name).substr(0, of_optimizer.size()) != of_optimizer) return;
    if (!was_phase(range.parent)) return;
    range.left_ns = now_ns_;
    open_.remove(open_.size() - 1);
    set_aside_[range.domain].push_back(index);
}

// Whether a range that is open around the phase is not part of the next step only. Batches and gradients set to zero
// may be the next step's.
bool thread_walk::is_work(const timeline_range& phase) const {
    constexpr std::array<std::string_view, 4> others = {"step", "data", "zero_grad", "compilation"};
    return std::find(others.begin(), others.end(), out_->name(phase.name)) == others.end();
}

void thread_walk::end_phase_at(range_id phase, std::int64_t ns) {
    if (!was_phase(phase)) return;
    timeline_range& range = out_->ranges[phase];
    if (range.start_ns <= ns && range.end_ns > ns) range.end_ns = ns;
}

// A step is observed to end where the next begins, so a loop's own range for an iteration opens in the previous step.
// It belongs to this step, which is therefore inserted below it, and begins with it. A range that was open when the
// previous step began, or that has a part of the previous step's work in it, encloses the beginning of this step.
void thread_walk::open_step(range_id index) {
    const range_id before = std::exchange(latest_step_, index);
    first_step_ = before_first_ = npos;
    if (open_.has_floor()) return open_.push(index);
    std::size_t position = 0;
    for (; position < open_.size() && (before == npos || open_.range_at(position) < before); ++position) {
        const range_id around = open_.range_at(position);
        const range_id parent = out_->ranges[around].parent;
        if (!was_phase(parent)) continue;
        if (before == npos) before_first_ = parent;
        hang(around, position == 0 ? npos : open_.range_at(position - 1));
    }
    hang(index, position == 0 ? npos : open_.range_at(position - 1));
    open_.insert(position, index);
    if (before == npos) {
        first_step_ = index;
        work_before_first_ = latest_work_;
    }
    if (position + 1 == open_.size()) return;
    const range_id outermost = open_.range_at(position + 1);
    if (latest_work_ == npos || outermost > latest_work_) {
        const std::int64_t begin_ns = out_->ranges[outermost].start_ns;
        end_phase_at(out_->ranges[outermost].parent, begin_ns);
        out_->ranges[index].start_ns = begin_ns;
        open_.hang_since_push(position + 1);
    }
    for (std::size_t inside = position + 1; inside < open_.size(); ++inside) {
        const range_id parent = out_->ranges[open_.range_at(inside)].parent;
        hang(open_.range_at(inside), was_phase(parent) || parent == npos ? index : parent);
    }
}

// Whether the range at `position`, which ends, is a part of the first step that was hung below it, and not a range
// around steps. Then they change places.
bool thread_walk::joins_first_step(std::size_t position) {
    if (first_step_ == npos || position + 1 >= open_.size() || open_.range_at(position + 1) != first_step_)
        return false;
    const range_id index = open_.range_at(position);
    timeline_range& step = out_->ranges[first_step_];
    timeline_range& range = out_->ranges[index];
    const bool has_work_before = work_before_first_ != npos && index < work_before_first_;
    if (open_.has_floor() || has_work_before || step.parent != index) return false;
    end_phase_at(before_first_, range.start_ns);
    step.start_ns = range.start_ns;
    hang(first_step_, range.parent);
    hang(index, first_step_);
    for (range_id i(index + 1); i < out_->ranges.size(); ++i) {
        timeline_range& inside = out_->ranges[i];
        if (inside.thread != thread_ || inside.is_module || i == first_step_) continue;
        if (inside.parent == first_step_) inside.parent = index;
        if (inside.parent != npos) inside.depth = out_->ranges[inside.parent].depth + 1;
    }
    open_.exchange(position);
    return true;
}

void thread_walk::hang(range_id index, range_id parent) {
    timeline_range& range = out_->ranges[index];
    range.parent = parent;
    range.depth = parent == npos ? 0 : out_->ranges[parent].depth + 1;
    if (parent != npos) range.works_for = out_->ranges[parent].works_for;
}

}  // namespace prof
