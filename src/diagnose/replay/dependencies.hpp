// SPDX-License-Identifier: Apache-2.0
// What waited for what in the steps of a capture: a graph whose nodes are calls of CUDA and GPU operations. replay.hpp
// computes from it how long the steps would take if some of it were shorter. docs/reference/diagnose.md describes the
// model and its limits.
//
// - A call begins a fixed time after the call before it on its thread. A thread that works for another (autograd's)
//   begins after the call before it there; the other thread goes on after the last call that works for it.
// - A thread that launches no kernels (XLA's copy) begins each call a fixed time after what the thread with the steps
//   did before; that thread does not wait for it.
// - XLA's runtime waits without a call of CUDA. The thread with the steps seems to have waited there, at the ends of
//   steps or before the calls of one function, if it was outside ranges, an operation ended, and mostly little time
//   outside ranges followed before the next call or step.
// - A call that waits ends a fixed time after the operations for which it waits, and not before its own work is done.
// - An operation begins a fixed time after its launch, after the operation before it in its stream, and after those of
//   other streams for which it waits; after the latest of them.
//
// What waits for a stream or an event is recorded (timeline::stream_waits and host_waits), except in Kineto traces and
// older captures. Otherwise, and where no event explains it, an operation seems to wait for another stream if it was
// launched, its own stream was free, and an operation elsewhere ended just before it began.
//
// Times are nanoseconds in the timeline's clock. Immutable; any thread may read it. Cost: linear in the calls and
// operations, with a search among the operations for each call that waits; memory 56 bytes a call and 32 an operation.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "analysis/attribution/attribution.hpp"
#include "analysis/steps/whole_steps.hpp"
#include "diagnose/replay/dependency_events.hpp"
#include "diagnose/replay/dependency_needs.hpp"
#include "timeline/timeline.hpp"

namespace prof {

class dependency_graph {
public:
    // The arguments must outlive it. `steps`: those that matter; if there are none, all of each window is one.
    dependency_graph(const timeline& data, const attribution& att, const whole_steps& steps)
        : dependency_graph(data, att, steps, whole_of(data)) {}
    // Of a part of the timeline, in which these steps lie. What is launched in it lies in it. `first_step`: the number
    // of steps that lie before them.
    dependency_graph(const timeline& data, const attribution& att, const whole_steps& steps, const graph_part& part,
                     std::size_t first_step = 0);

    const timeline& data() const noexcept { return events_.data(); }
    const graph_part& part() const noexcept { return events_.part(); }
    std::size_t first_step() const noexcept { return first_step_; }
    const row_table<host_event>& events() const noexcept { return events_.events(); }
    const op_needs& needs_of(op_id op) const noexcept { return needs_.needs_of(op); }
    std::span<const op_later_than> stream_needs_of(op_id op) const noexcept { return needs_.stream_needs_of(op); }
    // What a call waits for beside host_event::waits_for.
    std::span<const event_later_than> more_waits_of(host_event_id event) const noexcept {
        return events()[event].has_more_waits ? needs_with(more_waits_, event) : std::span<const event_later_than>{};
    }
    const std::vector<op_id>& order() const noexcept { return events_.order(); }
    host_event_id launch_of(op_id op) const noexcept { return events_.launch_of(op); }
    std::int64_t moment_of(op_id op) const noexcept { return events_.moment_of(op); }
    thread_id home_of(thread_id thread) const noexcept { return events_.homes()[thread]; }
    const std::vector<step_run>& runs() const noexcept { return events_.runs(); }
    const std::vector<whole_step>& steps() const noexcept { return events_.steps(); }
    bool has_steps() const noexcept { return events_.has_steps(); }
    bool ends_steps(op_id op) const noexcept { return events_.ends_steps(op); }
    bool has_xla() const noexcept { return has_xla_; }  // XLA's ranges
    std::size_t step_count() const noexcept { return steps().size(); }

    static std::vector<whole_step> joined_steps(const timeline& data, std::vector<whole_step> steps) {
        return dependency_events::joined_steps(data, std::move(steps));
    }

    std::int64_t usual_launch_ns() const noexcept { return needs_.usual_launch_ns(); }
    std::int64_t usual_next_ns() const noexcept { return needs_.usual_next_ns(); }

private:
    static std::vector<event_later_than> find_waits(dependency_events& events, const attribution& att,
                                                    const whole_steps& steps, bool has_xla);

    std::size_t first_step_;
    bool has_xla_;
    dependency_events events_;
    std::vector<event_later_than> more_waits_;
    dependency_needs needs_;
};

}  // namespace prof
