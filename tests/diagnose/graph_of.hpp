// SPDX-License-Identifier: Apache-2.0
// The dependencies of a capture that a test has put together, and changes of them by what the test knows.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>

#include "analysis/attribution/attribution.hpp"
#include "analysis/steps/whole_steps.hpp"
#include "diagnose/replay/dependencies.hpp"
#include "diagnose/replay/replay.hpp"
#include "support/capture_builder.hpp"

namespace prof::diagnose_test {

struct graph_of {
    // Without the first `left_out` steps.
    explicit graph_of(const capture_builder& capture, std::size_t left_out = 0)
        : data(capture.build()), att(attribute(data)), steps(find_whole_steps(data, att)) {
        const std::size_t count = std::min(left_out, steps.steps.size());
        steps.steps.erase(steps.steps.begin(), steps.steps.begin() + static_cast<std::ptrdiff_t>(count));
        graph = std::make_unique<dependency_graph>(data, att, steps);
    }

    host_event_id event_of(std::uint64_t correlation) const {
        for (const host_event_id i : graph->events().ids()) {
            const std::uint32_t call = graph->events()[i].call;
            if (call != npos && data.api_calls[call].correlation == correlation) return i;
        }
        return npos;
    }
    // The boundary of a step at this time.
    host_event_id boundary_at(std::int64_t ns) const {
        for (const host_event_id i : graph->events().ids()) {
            if (graph->events()[i].call == npos && graph->events()[i].start_ns == ns) return i;
        }
        return npos;
    }
    op_id op_of(std::uint64_t correlation) const {
        for (const op_id i : data.ops.ids()) {
            if (data.ops[i].correlation == correlation) return i;
        }
        return npos;
    }

    // Whether an operation goes on beside the steps, which is no time of theirs.
    bool has_work_beside() const {
        for (const op_id i : data.ops.ids()) {
            if (!graph->ends_steps(i)) return true;
        }
        return false;
    }

    std::int64_t replayed(replay_changes changes = {}) const {
        changes.normalize();
        return replayed_ns(*graph, changes);
    }
    std::int64_t gain(const replay_changes& changes) const { return replayed() - replayed(changes); }

    timeline data;
    attribution att;
    whole_steps steps;
    std::unique_ptr<dependency_graph> graph;
};

// Changes of a simulated program's calls.
inline replay_changes without_gap(host_event_id event, std::int64_t ns) {
    return {.events = {{.event = event, .gap_less_ns = ns}}, .ops = {}};
}
inline replay_changes without_waiting(const graph_of& of, host_event_id event) {
    return {.events = {{.event = event, .work_less_ns = of.graph->events()[event].work_ns, .waits = false}}, .ops = {}};
}

}  // namespace prof::diagnose_test
