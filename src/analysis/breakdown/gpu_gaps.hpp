// SPDX-License-Identifier: Apache-2.0
// The single gaps of a GPU's idle time: where each lies, why the GPU was idle (idle_causes.hpp), and how many
// operations were queued. A pure function of a timeline; the cost is that of the breakdown, and memory that of the gaps
// that are kept. docs/reference/breakdown.md defines the figures.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "analysis/attribution/attribution.hpp"
#include "analysis/breakdown/idle_causes.hpp"
#include "analysis/selection/step_scope.hpp"
#include "timeline/timeline.hpp"

namespace prof {

struct gpu_gap {
    // What of it lies in one step: if the GPU is idle beyond a step's end, the next step has a gap of its own.
    std::int64_t start_ns = 0;
    std::int64_t end_ns = 0;
    std::int64_t idle_ns = 0;
    std::uint64_t step = 0;  // the number of the step
    std::uint32_t device = 0;
    op_id before = npos;                                    // the operation that ended last before it
    op_id next = npos;                                      // the first operation after it
    std::array<std::int64_t, idle_cause_count> by_cause{};  // adds up to idle_ns
    // The cause of most of it, so much, and where most of that was spent.
    idle_cause cause = idle_cause::unknown;
    std::int64_t cause_ns = 0;
    call_id call = npos;     // in which the host was; of the cause `launching`: npos
    code_place_id place{};   // the ranges in which the host was; index into gpu_gap_list::places
    call_id drained = npos;  // the waiting call that had drained the queue
    // Operations of this GPU that were queued (launch_queue.hpp) when the gap began; 0: the queue was empty.
    std::uint64_t queued_at_start = 0;
    // The same when the call that launches `next` began, and from then until `next` began. None if that is not known.
    std::optional<std::uint64_t> queued_at_launch{};
    std::optional<std::int64_t> launch_to_start_ns{};
};

struct gpu_gap_list {
    bool has_steps = false;  // else it is of all the time that was recorded
    std::uint64_t steps = 0;
    std::uint32_t devices = 0;
    // Of all gaps:
    std::uint64_t count = 0;
    std::int64_t idle_ns = 0;           // equals the idle time of the breakdown, for each cause too
    std::int64_t empty_queue_ns = 0;    // in gaps that began with an empty queue
    std::vector<std::string> places{};  // paths of ranges; the first is "", outside ranges
    std::vector<gpu_gap> gaps{};        // longest first, those of one length by time and device
};

// Keeps the `most` longest gaps. Nothing if the capture has no GPU operation. The other arguments are those of
// break_down().
std::optional<gpu_gap_list> find_gpu_gaps(const timeline& data, const attribution& att,
                                          std::string_view step_function = {}, const step_scope& scope = {},
                                          std::size_t most = SIZE_MAX);

}  // namespace prof
