// SPDX-License-Identifier: Apache-2.0
// The makers of all reports, by the file of report/tables/ that has them. Pure functions of a timeline; Nsight's
// reports do not apply adoption.
#pragma once

#include <memory>

#include "report/report_input.hpp"
#include "report/table.hpp"

namespace prof {

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
// memory_report.cpp
report_part memory_report(const report_input& input);
report_part cuda_memory_report(const report_input& input);
report_part jax_memory_report(const report_input& input);
report_part memory_lines_report(const report_input& input);
report_part memory_steps_report(const report_input& input);
report_part memory_findings_report(const report_input& input);
report_part memory_checkpoints_report(const report_input& input);
// functions_report.cpp
table functions_report(const report_input& input);
// compilations.cpp
table compilation_report(const report_input& input);
// death.cpp
table death_report(const report_input& input);
// pytorch_ops.cpp
table pytorch_ops_report(const report_input& input);
// module_report.cpp
table modules_report(const report_input& input);
// nvtx_reports.cpp
table nvtx_pushpop_sum(const report_input& input);
table nvtx_kern_sum(const report_input& input);
// nvtx_projection.cpp
table nvtx_gpu_proj_sum(const report_input& input);
table nvtx_gpu_proj_trace(const report_input& input);
// diagnosis_tables.cpp
report_part diagnose_report(const report_input& input);
report_part diagnose_places_report(const report_input& input);
report_part lines_report(const report_input& input);
report_part critical_path_report(const report_input& input);
// processes.cpp
std::unique_ptr<report_job> begin_processes_job(job_knowledge& shared);
// rank_reports.cpp
std::unique_ptr<report_job> begin_ranks_job(job_knowledge& shared);
std::unique_ptr<report_job> begin_stragglers_job(job_knowledge& shared);
std::unique_ptr<report_job> begin_collectives_job(job_knowledge& shared);
std::unique_ptr<report_job> begin_clocks_job(job_knowledge& shared);
std::unique_ptr<report_job> begin_job_path_job(job_knowledge& shared);
std::unique_ptr<report_job> begin_standstill_job(job_knowledge& shared);

}  // namespace prof
