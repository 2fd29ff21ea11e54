// SPDX-License-Identifier: Apache-2.0
// Every report by name: libprof's own, and those that users know from Nsight Systems, with its columns and definitions
// (docs/reference/reports.md). Pure functions of a timeline; Nsight's reports do not apply adoption.
//
// To add a report: a maker in a file of its own, its declaration here, and a row in reports.cpp.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "analysis/attribution/domain_filter.hpp"
#include "analysis/projection/call_names.hpp"
#include "analysis/projection/projection.hpp"
#include "analysis/reports/kernel_names.hpp"
#include "analysis/reports/report_document.hpp"
#include "analysis/reports/table.hpp"
#include "analysis/selection/selected_part.hpp"
#include "timeline/timeline.hpp"

namespace prof {

struct report_input {
    const timeline& data;
    std::string capture{};  // its path, as documents show it
    kernel_name_style names = kernel_name_style::full;
    hidden_domains hidden{};
    projection_options projected{};  // of reports that apply adoption
    // The timeline's attribution with projected.attribution, where the caller has it: that saves making it.
    const attribution* att = nullptr;
    // Set if `data` and `att` are those of a part. Headings are of the whole.
    const selected_part* selected = nullptr;
    // The tables are for people: a projection has the rows within the limits below and sums of the others
    // (row_fold.hpp). Without it a projection has all rows and the columns for programs only.
    bool for_people = false;
    // Of reports with a tree: rows below this depth are left out, and of deep ones as many as exceed `rows`.
    std::uint32_t deepest = UINT32_MAX;
    std::size_t rows = SIZE_MAX;
    // Of reports that are lists (report_kind::is_list), in every format; "": each has its own order.
    std::string_view sort{};
    std::size_t limit = SIZE_MAX;
    // The floating-point operations of a step, as the user says; none: as the program does (mfu.hpp).
    std::optional<double> flops_per_step{};
    // What a CUDA call is called.
    call_namer call_name{};
    // The reports diagnose, diagnose_places and critical_path, by name: a room above this one makes them.
    std::function<report_part(std::string_view name)> diagnosed{};
    bool may_use_threads = false;  // one more than the calling one: not inside a profiled program
};

struct report_kind {
    std::string_view name;
    std::string_view purpose;  // one line
    report_part (*make)(const report_input& input);
    bool is_nsight = true;  // has Nsight's columns, named as in its CSV
    bool is_list = true;    // its rows may be in any order, and be cut off
};

// The first is the default.
std::span<const report_kind> report_kinds() noexcept;
// The ones that most users want, in a phrase for the help of an option.
std::string_view reports_at_a_glance() noexcept;
// Null if there is none of that name; '-' and '_' are the same in it.
const report_kind* find_report(std::string_view name) noexcept;

// These reports of a capture. Throws prof::error if one of them cannot be sorted as the input says.
report_document make_document(const report_input& input, std::span<const report_kind* const> reports);

// The summary that `prof run` prints and a recording writes beside its capture: the GPU projection with what a step
// takes; of a capture that has only some of the run's steps the estimates for all of them; modules, where they were
// recorded.
report_document make_summary(const report_input& input);

// The headline and the notes of a capture, which every report and summary has.
capture_heading heading_of(const timeline& data, std::string path = {});

// gpu_projection.cpp
report_part gpu_projection_report(const report_input& input);
// kernels.cpp and transfers.cpp
table kernels_report(const report_input& input);
table copies_report(const report_input& input);
table cuda_gpu_kern_sum(const report_input& input);
table cuda_gpu_mem_time_sum(const report_input& input);
table cuda_gpu_mem_size_sum(const report_input& input);
// breakdown_reports.cpp
table breakdown_report(const report_input& input);
table idle_report(const report_input& input);
// idle_gap_report.cpp
table gpu_gaps_report(const report_input& input);
// small_kernel_report.cpp
table small_kernels_report(const report_input& input);
// small_kernel_operators.cpp
table small_kernel_operators_report(const report_input& input);
// step_estimate.cpp
table steps_report(const report_input& input);
// hta_busy.cpp, hta_kernels.cpp and hta_launches.cpp
table temporal_breakdown_report(const report_input& input);
table comm_comp_overlap_report(const report_input& input);
table idle_time_breakdown_report(const report_input& input);
table gpu_kernel_types_report(const report_input& input);
table gpu_kernel_breakdown_report(const report_input& input);
table cuda_kernel_launch_stats_report(const report_input& input);
table cuda_kernel_launches_report(const report_input& input);
table queue_length_report(const report_input& input);
table memory_bandwidth_report(const report_input& input);
// mfu_report.cpp
table mfu_report(const report_input& input);
// launch_reports.cpp
table cuda_api_sum(const report_input& input);
table cuda_kern_exec_sum(const report_input& input);
// counters.cpp
table counters_report(const report_input& input);
// compilations.cpp
table compilation_report(const report_input& input);
// death.cpp
table death_report(const report_input& input);
// pytorch_ops.cpp
table pytorch_ops_report(const report_input& input);
// modules.cpp
table modules_report(const report_input& input);
// nvtx_reports.cpp
table nvtx_pushpop_sum(const report_input& input);
table nvtx_kern_sum(const report_input& input);
// nvtx_projection.cpp
table nvtx_gpu_proj_sum(const report_input& input);
table nvtx_gpu_proj_trace(const report_input& input);

}  // namespace prof
