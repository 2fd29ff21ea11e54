// SPDX-License-Identifier: Apache-2.0
// Runs of small kernels within steps: stretches in which a GPU executes one short kernel after another, so that it may
// wait for each launch. A pure function of a timeline; the cost is that of the breakdown, and memory that of the
// places. docs/reference/breakdown.md defines a run.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "analysis/attribution/attribution.hpp"
#include "analysis/breakdown/idle_causes.hpp"
#include "analysis/selection/step_scope.hpp"
#include "timeline/timeline.hpp"

namespace prof {

// A kernel is small below this. A launch takes PyTorch's host at least 5 µs (launch_bound_ns), so the host cannot keep
// ahead of many such kernels. nsys-ai calls a mean below 10 µs small, too.
inline constexpr std::int64_t small_kernel_ns = 10'000;
// A run has at least so many kernels.
inline constexpr std::uint64_t fewest_in_run = 3;
// A place is bound by launches if its runs waited for launches for this share of their time or more.
inline constexpr double launch_bound_share = 0.1;

enum class run_bound : std::uint8_t {
    launches,  // the GPU waits for the host
    graph,     // replays of CUDA graphs: the host launches many kernels at once, and idle time is the graph's own
    gpu,       // launches keep ahead
};
std::string_view to_string(run_bound bound) noexcept;

// The runs of one place, which is the innermost one that contains all kernels of a run.
struct small_kernel_place {
    std::string place{};       // path of ranges; "": outside ranges
    bool is_replayed = false;  // the kernels are nodes of CUDA graphs
    std::uint64_t runs = 0;
    std::uint64_t kernels = 0;
    std::uint64_t longest = 0;      // kernels of the longest run
    std::int64_t kernel_ns = 0;     // durations added
    std::int64_t span_ns = 0;       // from a run's first kernel's start to its last kernel's end, added
    std::int64_t idle_ns = 0;       // of that, while nothing ran on the GPU
    std::int64_t starved_ns = 0;    // of that, launch-starved (idle_causes.hpp)
    std::uint64_t intervals = 0;    // between launches within runs
    std::int64_t intervals_ns = 0;  // from each launch to the next, added

    run_bound bound() const noexcept;
};

struct small_kernel_list {
    bool has_steps = false;  // else it is of all the time that was recorded
    std::uint64_t steps = 0;
    std::uint32_t devices = 0;
    std::int64_t wall_ns = 0;                  // the steps' lengths times the GPUs
    std::uint64_t kernels = 0;                 // of the steps, of any length, without communication
    std::uint64_t in_runs = 0;                 // of these
    std::int64_t idle_ns = 0;                  // in runs
    std::int64_t starved_ns = 0;               // likewise
    std::vector<small_kernel_place> places{};  // largest starved_ns first, then the largest span
};

// One of these kernels, with its part of the run's idle time, which is that before it.
struct kernel_in_run {
    op_id op = npos;  // index into ops
    std::int64_t idle_ns = 0;
    std::int64_t starved_ns = 0;
};

// Nothing if the capture has no GPU operation. The arguments are those of break_down(). Calls `visit`, if there is one,
// for every kernel in a run; what it is given adds up to the result.
std::optional<small_kernel_list> find_small_kernels(const timeline& data, const attribution& att,
                                                    std::string_view step_function = {}, const step_scope& scope = {},
                                                    const std::function<void(const kernel_in_run&)>& visit = {});

}  // namespace prof
