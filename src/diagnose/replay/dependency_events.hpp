// SPDX-License-Identifier: Apache-2.0
// The calls of CUDA in the steps of a capture, in the order in which each thread made them, and the operations that
// they launched. A thread that works for another (autograd's) begins after the call before it there; the other thread,
// its home, goes on after the last call that works for it. A thread that launches no kernels (XLA's copy) begins each
// call a fixed time after what the thread with the steps did before; that thread does not wait for it.
//
// Built by dependency_graph (dependencies.hpp), on one thread.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "analysis/attribution/attribution.hpp"
#include "analysis/steps/whole_steps.hpp"
#include "timeline/timeline.hpp"

namespace prof {

struct host_event;
using host_event_id = row_index<host_event>;

// A call of CUDA that is inside no other call, or the beginning or end of a step.
struct host_event {
    std::int64_t start_ns = 0;
    std::int64_t end_ns = 0;      // ≥ start_ns
    std::int64_t work_ns = 0;     // how long it takes if it does not wait; ≤ its length
    call_id call = npos;          // index into api_calls; npos: the boundary of a step
    host_event_id before = npos;  // the event after whose end it begins; of another thread, if handed over
    op_id waits_for = npos;       // the operation for whose end it waits; index into ops
    thread_id thread = npos;
    std::int32_t after_wait_ns = 0;  // it returns so long after that operation's end, or later
    bool has_waited = false;         // else that operation was complete when it was called
    bool is_handed_over = false;
    bool is_beside = false;       // of a thread that launches no kernels: the time before it is no work
    bool has_more_waits = false;  // more_waits_of()
    // Of a program of JAX, in the time before this event: the operation for which the thread seems to have waited in
    // XLA's runtime, and the work of that thread before the wait.
    op_id runtime_waits_for = npos;
    std::int32_t work_before_wait_ns = 0;
};

// An operation, or a call that waits, begins or returns at least so long after the end of another operation.
template <typename TIndex>
struct basic_later_than {
    TIndex what = npos;  // which of them
    op_id op = npos;
    std::int32_t after_ns = 0;
};
using op_later_than = basic_later_than<op_id>;
using event_later_than = basic_later_than<host_event_id>;

// Steps that follow each other, in one window.
struct step_run {
    std::int64_t start_ns = 0;
    std::int64_t end_ns = 0;
    std::size_t first_step = 0;  // index into steps
    std::size_t steps = 0;
    std::size_t end_position = 0;     // in order(): none from there on was launched before the run's end
    host_event_id last_event = npos;  // the boundary with which it ends; npos: no thread has the steps
    // Of the operations that end steps: of those that were launched in it the one that ended last, and the latest end
    // of one that was launched before it.
    op_id last_op = npos;
    std::int64_t busy_before_ns = INT64_MIN;
    // By how long the host waited in it for operations that were launched before it; 0 if no thread has the steps.
    std::int64_t waited_before_ns = 0;
    // Operations that were launched in it and not complete at its end.
    std::vector<op_id> left{};
};

// A part of a timeline: the calls and operations with these indices.
struct graph_part {
    call_id first_call{0};
    call_id end_call{0};
    op_id first_op{0};
    op_id end_op{0};

    bool has_op(op_id op) const noexcept { return op >= first_op && op < end_op; }
};
graph_part whole_of(const timeline& data) noexcept;

class dependency_events {
public:
    // `data` must outlive it. `steps`: those that matter; if there are none, all of each window is one.
    dependency_events(const timeline& data, const attribution& att, const whole_steps& steps, const graph_part& part);

    const timeline& data() const noexcept { return *data_; }
    const graph_part& part() const noexcept { return part_; }
    const row_table<host_event>& events() const noexcept { return events_; }  // by start_ns
    row_table<host_event>& events() noexcept { return events_; }              // for what is known of their waits
    // Indices of operations, such that each comes after what it needs.
    const std::vector<op_id>& order() const noexcept { return order_; }
    // The event of a launch; npos: its launch is not known.
    host_event_id launch_of(op_id op) const noexcept {
        const call_id call = data_->ops[op].launch;
        const bool is_in_part = call != npos && call >= part_.first_call && call < part_.end_call;
        return is_in_part ? event_of_call_[call - part_.first_call] : npos;
    }
    // The earliest moment at which the operation can be considered, in recorded time.
    std::int64_t moment_of(op_id op) const noexcept;
    // By thread: the one for which it works; itself, if for none.
    const row_values<thread_id, thread_id>& homes() const noexcept { return homes_; }
    const std::vector<step_run>& runs() const noexcept { return runs_; }
    const std::vector<whole_step>& steps() const noexcept { return steps_; }
    bool has_steps() const noexcept { return has_steps_; }
    // Whether steps may be done only when this operation is. Not so if it is in a stream that few of them use and in
    // which they do not compute, and goes on when the next step is done: a copy or a kernel beside the steps, for which
    // nobody waits.
    bool ends_steps(op_id op) const noexcept {
        return beside_.empty() || !std::binary_search(beside_.begin(), beside_.end(), op);
    }
    // Of each run, the work from before it and the work that it left. `thread`: that with the steps. REQUIRES: the
    // events' waits are known.
    void find_work_across_edges(thread_id thread);

    // The steps as a graph has them: where little lies between two, it belongs to the first.
    static std::vector<whole_step> joined_steps(const timeline& data, std::vector<whole_step> steps);

private:
    std::span<const gpu_op> ops_of_part() const noexcept {
        return std::span(data_->ops).subspan(part_.first_op, part_.end_op - part_.first_op);
    }
    void find_runs(const whole_steps& steps);
    static bool goes_on_at(const timeline& data, const std::vector<whole_step>& steps, std::size_t step);
    void find_work_beside(const row_values<place_id, bool>& streams);
    void add_events(const whole_steps& steps);
    void hand_over(const attribution& att);
    void find_homes_outside_ranges(const std::string& autograd);  // the pattern of its threads' names
    void follow(thread_id thread);
    void order_ops();

    const timeline* data_;
    graph_part part_;
    bool has_steps_ = false;
    std::vector<whole_step> steps_;
    std::vector<op_id> beside_;  // the operations that do not end steps
    std::vector<step_run> runs_;
    row_values<thread_id, thread_id> homes_;
    row_table<host_event> events_;
    std::vector<host_event_id> event_of_call_;  // by call of the part
    std::vector<op_id> order_;
};

}  // namespace prof
