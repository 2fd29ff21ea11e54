// SPDX-License-Identifier: Apache-2.0
#include "analysis/reports/reports.hpp"

#include <algorithm>
#include <iterator>
#include <utility>

#include "analysis/reports/capture_notes.hpp"
#include "analysis/reports/gpu_projection.hpp"
#include "analysis/reports/process_overview.hpp"
#include "analysis/reports/row_order.hpp"
#include "analysis/reports/step_estimate.hpp"
#include "analysis/steps/captured_steps.hpp"
#include "base/error.hpp"
#include "base/suggestion.hpp"

namespace prof {
namespace {

// A report that is one table.
template <table (*make)(const report_input&)>
report_part from_table(const report_input& input) {
    return part_of(make(input));
}

constexpr char diagnose_name[] = "diagnose";
constexpr char places_name[] = "diagnose_places";
constexpr char path_name[] = "critical_path";

template <const char* Name>
report_part diagnosed_report(const report_input& input) {
    if (input.diagnosed) return input.diagnosed(Name);
    table none;
    none.report = none.heading = Name;
    none.instead = "not made here";
    return part_of(std::move(none));
}

constexpr report_kind kinds[] = {
    {"gpu-projection", "GPU time by range, with what other threads launched for it (default)", gpu_projection_report,
     false, false},
    {"breakdown", "where a step's time goes: compute, communication, copies, idle by cause",
     from_table<breakdown_report>, false, false},
    {"idle", "why the GPU was idle: what the host did, in which call and range", from_table<idle_report>, false},
    {"diagnose", "what to change, and what a step would gain", diagnosed_report<diagnose_name>, false, false},
    {"diagnose_places", "the places of what diagnose finds", diagnosed_report<places_name>, false, false},
    {"critical_path", "what the steps wait for", diagnosed_report<path_name>, false, false},
    {"gpu_gaps", "the gaps in which the GPU was idle, longest first: cause, neighbours, queue depth",
     from_table<gpu_gaps_report>, false},
    {"small_kernels", "runs of kernels below 10 us, by place, and whether the GPU waits for their launches",
     from_table<small_kernels_report>, false},
    {"small_kernel_operators", "PyTorch's operators and the modules that launch these kernels",
     from_table<small_kernel_operators_report>, false},
    {"kernels", "GPU time by kernel", from_table<kernels_report>, false},
    {"copies", "GPU time and bytes by kind of copy and set, with the memories' kinds", from_table<copies_report>,
     false},
    {"steps", "GPU time a step by range, estimated from the steps that were captured", from_table<steps_report>, false,
     false},
    {"counters", "the values of the program's counters: first, mean, least, largest, last", from_table<counters_report>,
     false},
    {"death", "how the process ended: ranges still open, launches that did not complete", from_table<death_report>,
     false, false},
    {"pytorch_ops", "time by operator, backward node and record_function range of PyTorch",
     from_table<pytorch_ops_report>, false},
    {"modules", "GPU time by torch.nn.Module and phase: `prof run --modules` records them", from_table<modules_report>,
     false, false},
    {"compilation", "what was compiled, by JAX or torch.compile: how often, how long", from_table<compilation_report>,
     false},
    {"mfu", "throughput and model FLOPs utilisation, each figure with its source", from_table<mfu_report>, false,
     false},
    {"temporal_breakdown", "GPU busy and idle, from the first operation to the last (HTA's)",
     from_table<temporal_breakdown_report>, false},
    {"comm_comp_overlap", "communication that runs while kernels compute (HTA's)", from_table<comm_comp_overlap_report>,
     false},
    {"idle_time_breakdown", "idle time between a stream's operations, by what it waits for (HTA's)",
     from_table<idle_time_breakdown_report>, false},
    {"gpu_kernel_types", "GPU time by the kinds of work that run at once (HTA's)", from_table<gpu_kernel_types_report>,
     false},
    {"gpu_kernel_breakdown", "GPU time by kind of work and kernel (HTA's)", from_table<gpu_kernel_breakdown_report>,
     false},
    {"cuda_kernel_launch_stats", "launches: the call, the wait, the work (HTA's)",
     from_table<cuda_kernel_launch_stats_report>, false},
    {"cuda_kernel_launches", "the same, one by one", from_table<cuda_kernel_launches_report>, false},
    {"queue_length", "operations that wait in each stream's queue (HTA's)", from_table<queue_length_report>, false},
    {"memory_bandwidth", "rates of copies and sets (HTA's)", from_table<memory_bandwidth_report>, false},
    {"cuda_api_sum", "CUDA calls: host time by function (Nsight's)", from_table<cuda_api_sum>},
    {"cuda_gpu_kern_sum", "kernels: GPU time by name (Nsight's)", from_table<cuda_gpu_kern_sum>},
    {"cuda_gpu_mem_size_sum", "copies and sets: bytes by direction (Nsight's)", from_table<cuda_gpu_mem_size_sum>},
    {"cuda_gpu_mem_time_sum", "copies and sets: GPU time by direction (Nsight's)", from_table<cuda_gpu_mem_time_sum>},
    {"cuda_kern_exec_sum", "kernels: time of call, queue and execution (Nsight's)", from_table<cuda_kern_exec_sum>},
    {"nvtx_gpu_proj_sum", "ranges projected on the GPU, by name (Nsight's: launching thread only)",
     from_table<nvtx_gpu_proj_sum>},
    {"nvtx_gpu_proj_trace", "ranges projected on the GPU, one by one (Nsight's)", from_table<nvtx_gpu_proj_trace>},
    {"nvtx_kern_sum", "kernels by range and thread (Nsight's)", from_table<nvtx_kern_sum>},
    {"nvtx_pushpop_sum", "push/pop ranges: host time by name (Nsight's)", from_table<nvtx_pushpop_sum>},
};

void arrange_rows(report_part& part, const report_kind& kind, const report_input& input) {
    if (!input.sort.empty() && !kind.is_list) {
        throw error(std::string(kind.name) + " is no list, and cannot be sorted");
    }
    if (!kind.is_list) return;
    for (table& of : part.tables) {
        if (!input.sort.empty()) sort_rows(of, input.sort);
        limit_rows(of, input.limit);
    }
}

}  // namespace

std::span<const report_kind> report_kinds() noexcept { return kinds; }

std::string_view reports_at_a_glance() noexcept {
    return "gpu-projection (default): GPU time by range; kernels; copies; modules: by torch.nn.Module; pytorch_ops: by "
           "operator of PyTorch's; and Nsight's, such as nvtx_gpu_proj_sum";
}

const report_kind* find_report(std::string_view name) noexcept {
    const auto* const found = std::find_if(std::begin(kinds), std::end(kinds),
                                           [&](const report_kind& kind) { return is_same_name(kind.name, name); });
    return found == std::end(kinds) ? nullptr : found;
}

capture_heading heading_of(const timeline& data, std::string path) {
    const std::vector<capture_note> notes = capture_notes(data);
    return {.path = std::move(path),
            .title = capture_title(data),
            .command = data.property("command"),
            .windows = windows_line(data),
            .process = process_of(data),
            .dropped = data.quality.dropped,
            .warnings = texts_of(notes, {note_weight::warning}),
            .facts = texts_of(notes, {note_weight::heading}),
            .notes = texts_of(notes, {note_weight::detail})};
}

namespace {

// With what the request itself has in vain.
capture_heading heading_of(const report_input& input) {
    const selected_part* const part = input.selected;
    const timeline& whole = part == nullptr ? input.data : part->recorded();
    capture_heading out = heading_of(whole, input.capture);
    for (std::string& line : patterns_in_vain(whole, input.projected.attribution.domains)) {
        out.warnings.push_back(std::move(line));
    }
    if (part == nullptr) return out;
    out.selection = part->facts();
    out.warnings.insert(out.warnings.end(), part->facts().in_vain.begin(), part->facts().in_vain.end());
    return out;
}

}  // namespace

report_document make_document(const report_input& input, std::span<const report_kind* const> reports) {
    report_document out{.capture = heading_of(input)};
    for (const report_kind* const kind : reports) {
        out.parts.push_back(kind->make(input));
        out.parts.back().is_nsight = kind->is_nsight;
        arrange_rows(out.parts.back(), *kind, input);
    }
    return out;
}

report_document make_summary(const report_input& input) {
    report_document out{.capture = heading_of(input)};
    const projected_timeline shown(input);
    out.parts.push_back(gpu_projection_part(shown, input));
    if (has_part_of_steps(input.data)) {
        step_estimate estimated = estimate_steps(shown.data(), shown.att(), input.projected.fold);
        out.parts.push_back(part_of(steps_table(with_largest_rows(std::move(estimated), input.rows))));
    }
    if (!input.data.property("modules").empty()) {
        out.parts.push_back(
            part_of(modules_report({.data = input.data, .projected = input.projected, .rows = input.rows})));
    }
    return out;
}

}  // namespace prof
