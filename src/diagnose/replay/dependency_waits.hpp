// SPDX-License-Identifier: Apache-2.0
// Finds what each call of CUDA waited for, and how long it would have taken without a wait. XLA's runtime waits without
// a call of CUDA: the thread with the steps seems to have waited there, at the ends of steps or before the calls of one
// function, if it was outside ranges, an operation ended, and mostly little time outside ranges followed before the
// next call or step.
//
// Used by dependency_graph (dependencies.hpp), on one thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <set>
#include <utility>
#include <vector>

#include "analysis/breakdown/host_activity.hpp"
#include "diagnose/replay/dependency_events.hpp"
#include "timeline/timeline.hpp"

namespace prof {

class dependency_waits {
public:
    // What it finds it writes into the events.
    explicit dependency_waits(dependency_events& events)
        : data_(&events.data()), part_(events.part()), events_(events.events()), homes_(events.homes()) {}

    void find_waits();
    // In XLA's runtime; `thread`: that with the steps.
    void find_runtime_waits(thread_id thread, const host_activity& host);
    // What is left of each event's length without its wait. REQUIRES: the waits were found.
    void measure_work();
    // What calls wait for beside host_event::waits_for, by event.
    std::vector<event_later_than> take_more_waits() noexcept { return std::move(more_waits_); }

private:
    struct runtime_wait {
        op_id op = npos;  // for which it waits
        std::int32_t work_before_ns = 0;
        std::int64_t idle_before_ns = 0;  // outside ranges, until the operation's end
        std::int64_t idle_after_ns = 0;   // outside ranges, from its end on
    };
    std::optional<runtime_wait> runtime_wait_before(const host_event& event, thread_id thread,
                                                    const host_activity& host, std::size_t& hint) const;
    void find_waiting_allocations();
    void find_needless_waits(std::int64_t usual_ns);
    void find_more_waits(std::int64_t usual_ns);
    bool is_to_host(const gpu_op& op) const;
    bool copies_back(const host_event& event) const;
    op_id waited_for(const host_event& event, std::size_t& hint) const;
    op_id ended_by(const host_event& event, std::size_t& hint) const;
    bool leaves_work(const host_event& event, std::size_t hint) const;
    bool waits_for_work(const timeline_api_call& call) const noexcept;
    bool is_of_same_host(op_id op, thread_id thread) const noexcept;
    bool waits_for_all(const timeline_api_call& call) const noexcept;

    const timeline* data_;
    graph_part part_;
    row_table<host_event>& events_;
    const row_values<thread_id, thread_id>& homes_;
    std::set<std::uint64_t> waiting_allocations_;  // functions (function_key()) that return when the GPU's work is done
    std::vector<event_later_than> more_waits_;
};

}  // namespace prof
