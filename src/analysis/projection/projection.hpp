// GPU projection per range path: what each range really cost on the GPU. docs/attribution.md defines every column.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "analysis/attribution/attribution.hpp"

namespace prof {

struct projection_options {
    bool fold_digits = true;  // `iteration 17` and `iteration 18` are one row, `iteration #`
    attribution_options attribution{};
};

enum class row_kind : std::uint8_t { range, no_range, ambiguous, unmatched };

// "push_pop", "phase", "captured", "no_range", "ambiguous" or "unmatched".
std::string_view row_type(row_kind kind, bool is_captured, bool is_observed) noexcept;

// Times in ns. sum: durations added. busy: length of the union (per device, then added). span: last end − first start
// per instance (Nsight's projection), added over instances.
struct projection_row {
    std::string path;  // segments (path_segments) joined by '/'
    std::string name;  // last segment, unescaped; "domain:text" unless the domain is the default or prof's own
    std::uint32_t depth = 0;
    std::uint32_t parent = npos;  // index into rows
    row_kind kind = row_kind::range;
    bool is_captured = false;  // ranges open when a CUDA graph was captured; instances: in launches of the graph
    bool is_observed = false;  // a phase that libprof observed; no range of the program's
    std::uint64_t instances = 0;
    std::int64_t host_ns = 0;     // durations on the host added; 0 if captured
    std::int64_t gpu_sum_ns = 0;  // of all operations that count for the row: self + child
    std::int64_t gpu_self_ns = 0;
    std::int64_t gpu_child_ns = 0;
    std::int64_t gpu_busy_ns = 0;
    std::int64_t gpu_span_ns = 0;
    std::uint64_t ops = 0;  // operations that count for the row
    std::uint64_t self_ops = 0;
    std::uint64_t adopted_ops = 0;      // of ops: launched by another thread and adopted
    std::int64_t adopted_ns = 0;        // their durations added
    std::int64_t communication_ns = 0;  // of gpu_sum_ns: NCCL's kernels
    // Of host_ns: spent by the range's own thread in calls that wait, or may wait, for the GPU (record/record.hpp).
    std::int64_t wait_ns = 0;
    std::uint64_t payload_bytes = 0;  // what the instances say that they move, added (NCCL's do)
    // How many names were folded into the row, if they are few and each has many instances (merged_names); else 0.
    std::uint32_t merged_names = 0;
    // gpu sum per instance, over all instances, those with no GPU work included
    std::int64_t instance_min_ns = 0;
    double instance_median_ns = 0;
    std::int64_t instance_max_ns = 0;
    double instance_stddev_ns = 0;  // of the sample (n − 1); 0 for one instance
};

struct projection {
    std::int64_t total_gpu_ns = 0;  // all operations' durations added; the self column adds up to this, exactly
    std::int64_t total_busy_ns = 0;
    std::uint64_t total_ops = 0;
    std::uint64_t adopted_ops = 0;
    std::uint64_t ops_of_unseen_captures = 0;  // attribution's
    std::uint64_t ops_of_ambiguous_captures = 0;
    std::int64_t communication_ns = 0;  // of total_gpu_ns
    std::int64_t wait_ns = 0;           // of all calls that wait, whatever their thread
    std::vector<projection_row>
        rows;  // preorder of the tree, siblings by first start; then (no range), (ambiguous), (unmatched)
    // start/end ranges are process-wide and have a table of their own: operations whose launch lies in time between
    // start and end, whoever launched them. gpu_self/child are 0 here: they take no part in conservation.
    std::vector<projection_row> process_ranges;
};

projection project(const timeline& data, const attribution& att, const projection_options& options = {});
// The same, with the phases of a JAX program, unless every name is to have a row of its own (xla_phases.hpp).
projection project(const timeline& data, const projection_options& options = {});

}  // namespace prof
