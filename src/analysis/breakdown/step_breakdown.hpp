// SPDX-License-Identifier: Apache-2.0
// Where the time of a step goes: each instant of each step, on each GPU, counts once. A pure function of a timeline;
// linear in its ranges, calls and operations, plus the host's calls within gaps. docs/reference/breakdown.md defines
// the figures.
//
// At an instant a GPU computes, if any of its kernels runs; else it communicates, if communication runs; else it
// copies; else it is idle, for one cause (idle_causes.hpp). XProf and PyTorch's TensorBoard plugin order them alike.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "analysis/attribution/attribution.hpp"
#include "analysis/breakdown/idle_causes.hpp"
#include "analysis/breakdown/thread_states.hpp"
#include "analysis/selection/step_scope.hpp"
#include "analysis/steps/whole_steps.hpp"
#include "timeline/timeline.hpp"

namespace prof {

enum class time_use : std::uint8_t { compute, communication, copy, idle };
std::string_view to_string(time_use use) noexcept;

struct breakdown_row {
    time_use use = time_use::compute;
    idle_cause cause = idle_cause::unknown;  // of idle time
    // Of idle time: the function of CUDA in which the host was; none: in none.
    api_domain call_domain = api_domain::none;
    std::uint32_t call_cbid = 0;
    std::string part{};  // of compute and communication: the step's part; of a copy its kind; of idle time the place
    std::uint64_t pieces = 0;        // of idle time: in so many gaps
    std::int64_t total_ns = 0;       // in all steps, on all GPUs
    std::int64_t longest_ns = 0;     // of idle time: the longest piece
    std::int64_t after_wait_ns = 0;  // of idle time: part of total_ns in gaps in which the queue was drained by a wait
    std::int64_t overlapped_ns = 0;  // of communication and copies: beside it, while the GPU computed or communicated
    // Of a step's time, over the steps; a step without it has 0.
    double median_ns = 0;
    std::int64_t min_ns = 0;
    std::int64_t max_ns = 0;
    thread_shares did{};  // of idle time in host code: what the thread did
};

// A step that is longer than the others.
struct slow_step {
    std::uint64_t number = 0;
    std::int64_t length_ns = 0;
    std::size_t row = 0;         // the row that exceeds its median most
    std::int64_t excess_ns = 0;  // by so much
};

struct step_breakdown {
    bool has_steps = false;  // else it is of all the time that was recorded
    bool by_gpu = false;     // most steps begin when the GPU is done with the one before: the host runs ahead
    std::uint64_t steps = 0;
    std::uint32_t devices = 0;
    // The lengths of all steps added, times the number of GPUs: exactly the sum over all rows.
    std::int64_t wall_ns = 0;
    double step_median_ns = 0;
    std::int64_t step_min_ns = 0;
    std::int64_t step_max_ns = 0;
    thread_shares did;                // of all idle time in host code
    std::vector<breakdown_row> rows;  // by use, then largest first
    std::vector<slow_step> slow;      // longest first, at most most_slow_steps, or as many as were asked for
    std::uint64_t slow_count = 0;     // how many there are
    // Of all the time that was recorded, in steps or not, chosen or not: its length, and how long any operation ran on
    // a GPU, added over the GPUs.
    std::int64_t recorded_ns = 0;
    std::int64_t recorded_busy_ns = 0;

    std::int64_t total_of(time_use use) const noexcept;
};
inline constexpr std::size_t most_slow_steps = 5;

// Nothing if the capture has no GPU operation. `step_function` as for measure_steps. Of the steps of the scope, or if
// there are none of its times.
std::optional<step_breakdown> break_down(const timeline& data, const attribution& att,
                                         std::string_view step_function = {}, const step_scope& scope = {});

// Of these whole steps; of the slow ones up to `most_slow` are listed. Nothing if there are no steps, or no operations.
std::optional<step_breakdown> break_down_steps(const timeline& data, const attribution& att, const whole_steps& steps,
                                               std::size_t most_slow);

}  // namespace prof
