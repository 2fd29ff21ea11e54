// SPDX-License-Identifier: Apache-2.0
// GPU projection by range path: what each range cost on the GPU. docs/reference/attribution.md defines every column.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "analysis/attribution/attribution.hpp"
#include "record/fold_rule.hpp"

namespace prof {

struct projection_options {
    fold_rule fold{};  // by default `iteration 17` and `iteration 18` are one row, `iteration #`
    attribution_options attribution{};
};

enum class row_kind : std::uint8_t { range, no_range, ambiguous, unmatched };

// "push_pop", "phase", "captured", "no_range", "ambiguous" or "unmatched".
std::string_view row_type(row_kind kind, bool is_captured, bool is_observed) noexcept;

// Times are in ns. sum: durations added. busy: length of the union, per device, then added. span: last end − first
// start of an instance (Nsight's projection), added over instances.
struct projection_row {
    std::string path;  // segments (path_segments) joined by '/'
    std::string name;  // last segment, unescaped; "domain:text" unless the domain is the default or prof's own
    std::uint32_t depth = 0;
    std::uint32_t parent = npos;  // index into rows
    row_kind kind = row_kind::range;
    bool is_captured = false;   // open when a CUDA graph was captured; its instances are in launches of the graph
    bool is_observed = false;   // a phase that libprof observed, not one of the program's ranges
    bool is_execution = false;  // of a jitted function that is not the step
    std::uint64_t instances = 0;
    std::int64_t host_ns = 0;       // host durations added; 0 if captured
    std::int64_t host_self_ns = 0;  // the same without the ranges directly inside, on the range's own thread
    std::int64_t gpu_sum_ns = 0;    // of all operations that count for the row: self + child
    std::int64_t gpu_self_ns = 0;
    std::int64_t gpu_child_ns = 0;
    std::int64_t gpu_busy_ns = 0;
    std::int64_t gpu_span_ns = 0;
    std::uint64_t ops = 0;  // operations that count for the row
    std::uint64_t self_ops = 0;
    std::uint64_t adopted_ops = 0;      // of ops: launched by another thread and adopted
    std::int64_t adopted_ns = 0;        // durations of these operations added
    std::int64_t communication_ns = 0;  // part of gpu_sum_ns (communication.hpp)
    // Part of host_ns: spent by the range's own thread in calls that wait or may wait for the GPU (record/record.hpp).
    std::int64_t wait_ns = 0;
    // Bytes moved according to the payloads of the instances, added (NCCL's ranges have it).
    std::uint64_t payload_bytes = 0;
    // The number of names folded into the row, if they may be different things (merged_names::doubtful); else 0.
    std::uint32_t merged_names = 0;
    // The GPU sum of an instance, over all instances, including those without GPU work.
    std::int64_t instance_min_ns = 0;
    double instance_median_ns = 0;
    std::int64_t instance_max_ns = 0;
    double instance_stddev_ns = 0;  // sample standard deviation (n − 1); 0 for one instance
    // The host duration of an instance; 0 if captured.
    std::int64_t host_min_ns = 0;
    double host_median_ns = 0;
    std::int64_t host_max_ns = 0;
};

struct projection {
    fold_rule fold{};               // by which it was made
    std::int64_t total_gpu_ns = 0;  // all operations' durations added; the self column adds up to exactly this
    std::int64_t total_busy_ns = 0;
    std::uint64_t total_ops = 0;
    std::uint64_t adopted_ops = 0;
    std::uint64_t ops_of_unseen_captures = 0;  // from the attribution
    std::uint64_t ops_of_ambiguous_captures = 0;
    std::int64_t communication_ns = 0;  // part of total_gpu_ns
    std::int64_t wait_ns = 0;           // of all calls that wait, on any thread
    // Preorder of the tree, siblings by first start; then (no range), (ambiguous), (unmatched).
    std::vector<projection_row> rows;
    // Start/end ranges are process-wide and have a table of their own. An operation counts for a range if its launch
    // lies between start and end, on any thread. gpu_self_ns and gpu_child_ns are 0 here, since these rows are not part
    // of the conserved total.
    std::vector<projection_row> process_ranges;
};

projection project(const timeline& data, const attribution& att, const projection_options& options = {});
// The same, with the phases of a JAX program, unless nothing is folded or XLA's domain is hidden (xla_phases.hpp).
projection project(const timeline& data, const projection_options& options = {});

}  // namespace prof
