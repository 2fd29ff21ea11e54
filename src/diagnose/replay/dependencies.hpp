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

#include <array>
#include <cstdint>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "analysis/attribution/attribution.hpp"
#include "analysis/breakdown/host_activity.hpp"
#include "analysis/steps/whole_steps.hpp"
#include "timeline/timeline.hpp"

namespace prof {

// A call of CUDA that is inside no other call, or the beginning or end of a step.
struct host_event {
    std::int64_t start_ns = 0;
    std::int64_t end_ns = 0;         // ≥ start_ns
    std::int64_t work_ns = 0;        // how long it takes if it does not wait; ≤ its length
    std::uint32_t call = npos;       // index into api_calls; npos: the boundary of a step
    std::uint32_t before = npos;     // the event after whose end it begins; of another thread, if handed over
    std::uint32_t waits_for = npos;  // the operation for whose end it waits; index into ops
    std::uint32_t thread = npos;
    std::int32_t after_wait_ns = 0;  // it returns so long after that operation's end, or later
    bool has_waited = false;         // else that operation was complete when it was called
    bool is_handed_over = false;
    bool is_beside = false;       // of a thread that launches no kernels: the time before it is no work
    bool has_more_waits = false;  // more_waits_of()
    // Of a program of JAX, in the time before this event: the operation for which the thread seems to have waited in
    // XLA's runtime, and the work of that thread before the wait.
    std::uint32_t runtime_waits_for = npos;
    std::int32_t work_before_wait_ns = 0;
};

// What an operation waits for before it begins. Of these, the one that is ready last counts: the operation begins
// `extra_ns` after it.
struct op_needs {
    std::uint32_t previous = npos;  // the operation before it in its stream
    std::uint32_t other = npos;     // an operation of another stream
    std::int32_t after_launch_ns = 0;
    std::int32_t after_previous_ns = 0;
    std::int32_t after_other_ns = 0;
    bool beside_previous = false;   // the two overlap: after_previous_ns counts from the start of the other one
    bool from_return = false;       // after_launch_ns counts from the return of the launch
    bool has_stream_needs = false;  // stream_needs_of()
    std::int64_t extra_ns = 0;      // it began so much later, for a reason that was not recorded
};

// An operation, or a call that waits, begins or returns at least so long after the end of another operation.
struct later_than {
    std::uint32_t what = npos;  // an operation, or index into events()
    std::uint32_t op = npos;
    std::int32_t after_ns = 0;
};

// Steps that follow each other, in one window.
struct step_run {
    std::int64_t start_ns = 0;
    std::int64_t end_ns = 0;
    std::size_t first_step = 0;  // index into steps
    std::size_t steps = 0;
    std::size_t end_position = 0;             // in order(): none from there on was launched before the run's end
    std::uint32_t last_event = npos;          // the boundary with which it ends; npos: no thread has the steps
    std::uint32_t last_op = npos;             // of the operations that were launched in it the one that ended last
    std::int64_t busy_before_ns = INT64_MIN;  // the latest end of an operation that was launched before it
    // By how long the host waited in it for operations that were launched before it; 0 if no thread has the steps.
    std::int64_t waited_before_ns = 0;
    // Operations that were launched in it and not complete at its end.
    std::vector<std::uint32_t> left{};
};

// A part of a timeline: the calls and operations with these indices.
struct graph_part {
    std::uint32_t first_call = 0;
    std::uint32_t end_call = 0;
    std::uint32_t first_op = 0;
    std::uint32_t end_op = 0;

    bool has_op(std::uint32_t op) const noexcept { return op >= first_op && op < end_op; }
};
graph_part whole_of(const timeline& data) noexcept;

class dependency_graph {
public:
    // The arguments must outlive it. `steps`: those that matter; if there are none, all of each window is one.
    dependency_graph(const timeline& data, const attribution& att, const whole_steps& steps)
        : dependency_graph(data, att, steps, whole_of(data)) {}
    // Of a part of the timeline, in which these steps lie. What is launched in it lies in it. `first_step`: the number
    // of steps that lie before them.
    dependency_graph(const timeline& data, const attribution& att, const whole_steps& steps, const graph_part& part,
                     std::size_t first_step = 0);

    const timeline& data() const noexcept { return *data_; }
    const graph_part& part() const noexcept { return part_; }
    std::size_t first_step() const noexcept { return first_step_; }
    const std::vector<host_event>& events() const noexcept { return events_; }  // by start_ns
    // What an operation of the part needs; index into timeline::ops.
    const op_needs& needs_of(std::uint32_t op) const noexcept { return ops_[op - part_.first_op]; }
    // What an operation waits for by events, and what a call waits for beside host_event::waits_for.
    std::span<const later_than> stream_needs_of(std::uint32_t op) const noexcept {
        return needs_of(op).has_stream_needs ? those_of(stream_needs_, op) : std::span<const later_than>{};
    }
    std::span<const later_than> more_waits_of(std::uint32_t event) const noexcept {
        return events_[event].has_more_waits ? those_of(more_waits_, event) : std::span<const later_than>{};
    }
    // Indices of operations, such that each comes after what it needs.
    const std::vector<std::uint32_t>& order() const noexcept { return order_; }
    // The event of a launch; npos: its launch is not known.
    std::uint32_t launch_of(std::uint32_t op) const noexcept {
        const std::uint32_t call = data_->ops[op].launch;
        const bool is_in_part = call != npos && call >= part_.first_call && call < part_.end_call;
        return is_in_part ? event_of_call_[call - part_.first_call] : npos;
    }
    // The earliest moment at which the operation can be considered, in recorded time.
    std::int64_t moment_of(std::uint32_t op) const noexcept;
    // The thread for which a thread works; itself, if for none.
    std::uint32_t home_of(std::uint32_t thread) const noexcept { return homes_[thread]; }
    const std::vector<step_run>& runs() const noexcept { return runs_; }
    const std::vector<whole_step>& steps() const noexcept { return steps_; }
    bool has_steps() const noexcept { return has_steps_; }
    bool has_xla() const noexcept { return has_xla_; }  // XLA's ranges
    std::size_t step_count() const noexcept { return steps_.size(); }

    // The steps as a graph has them: where little lies between two, it belongs to the first.
    static std::vector<whole_step> joined_steps(const timeline& data, std::vector<whole_step> steps);

    // The usual time from a launch to its operation on a free GPU, and between two operations of a stream.
    std::int64_t usual_launch_ns() const noexcept { return usual_launch_ns_; }
    std::int64_t usual_next_ns() const noexcept { return usual_next_ns_; }

private:
    std::span<const gpu_op> ops_of_part() const noexcept {
        return std::span(data_->ops).subspan(part_.first_op, part_.end_op - part_.first_op);
    }
    void find_runs(const whole_steps& steps);
    static bool goes_on_at(const timeline& data, const std::vector<whole_step>& steps, std::size_t step);
    void add_events(const whole_steps& steps);
    void hand_over(const attribution& att);
    void find_homes_outside_ranges(const std::string& autograd);  // the pattern of its threads' names
    void follow(std::uint32_t thread);
    struct runtime_wait {
        std::uint32_t op = npos;  // for which it waits
        std::int32_t work_before_ns = 0;
        std::int64_t idle_before_ns = 0;  // outside ranges, until the operation's end
        std::int64_t idle_after_ns = 0;   // outside ranges, from its end on
    };
    void find_runtime_waits(std::uint32_t thread, const host_activity& host);
    std::optional<runtime_wait> runtime_wait_before(const host_event& event, std::uint32_t thread,
                                                    const host_activity& host, std::size_t& hint) const;
    void find_waits();
    void find_waiting_allocations();
    void find_needless_waits(std::int64_t usual_ns);
    void find_more_waits(std::int64_t usual_ns);
    void measure_work();
    void order_ops();
    void measure_usual();
    void find_stream_needs();
    void find_needs();
    void find_work_across_edges(std::uint32_t thread);
    static std::span<const later_than> those_of(const std::vector<later_than>& list, std::uint32_t what) noexcept;
    std::uint32_t latest_stream_need(std::uint32_t op) const noexcept;
    bool is_to_host(const gpu_op& op) const;
    bool copies_back(const host_event& event) const;
    std::uint32_t waited_for(const host_event& event, std::size_t& hint) const;
    std::uint32_t ended_by(const host_event& event, std::size_t& hint) const;
    bool leaves_work(const host_event& event, std::size_t hint) const;
    bool waits_for_work(const timeline_api_call& call) const noexcept;
    bool is_of_same_host(std::uint32_t op, std::uint32_t thread) const noexcept;
    bool waits_for_all(const timeline_api_call& call) const noexcept;
    std::uint32_t elsewhere(std::size_t position) const;
    bool is_launched_before(std::uint32_t op, std::uint32_t other) const noexcept;

    const timeline* data_;
    graph_part part_;
    std::size_t first_step_;
    bool has_steps_ = false;
    bool has_xla_ = false;
    std::vector<whole_step> steps_;
    std::vector<step_run> runs_;
    std::vector<std::uint32_t> homes_;             // by thread
    std::set<std::uint64_t> waiting_allocations_;  // functions (function_of) that return when the GPU's work is done
    std::vector<host_event> events_;
    std::vector<std::uint32_t> event_of_call_;  // by call of the part
    std::vector<op_needs> ops_;                 // by operation of the part
    std::vector<later_than> stream_needs_;      // by what
    std::vector<later_than> more_waits_;        // by what
    std::vector<std::uint32_t> order_;
    std::int64_t usual_launch_ns_ = 5'000;
    std::int64_t usual_next_ns_ = 1'000;
    std::int64_t usual_hand_over_ns_ = 0;  // between operations of two streams, by an event
};

}  // namespace prof
