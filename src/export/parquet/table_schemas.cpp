// SPDX-License-Identifier: Apache-2.0
#include "export/parquet/table_schemas.hpp"

#include <array>

namespace prof {
namespace {

constexpr bool optional = true;
constexpr bool repetitive = true;
constexpr parquet_type flag = parquet_type::flag;
constexpr parquet_type integer = parquet_type::integer;
constexpr parquet_type number = parquet_type::number;
constexpr parquet_type text = parquet_type::text;

constexpr auto gpu_operation_columns = std::to_array<parquet_column>({
    {"capture", text},
    {"kind", text},
    {"class", text},
    {"name", text},
    {"symbol", text, optional},
    {"start_ns", integer},
    {"end_ns", integer},
    {"duration_ns", integer},
    {"clock_shift_ns", integer, !optional, repetitive},
    {"launch_ns", integer, optional},
    {"launch_thread", integer, optional, repetitive},
    {"step", integer, optional, repetitive},
    {"phase", text, optional},
    {"path", text},
    {"range_id", integer, optional},
    {"is_adopted", flag},
    {"device", integer, !optional, repetitive},
    {"context", integer, !optional, repetitive},
    {"stream", integer, !optional, repetitive},
    {"bytes", integer, optional, repetitive},
    {"registers_per_thread", integer, optional, repetitive},
    {"graph_id", integer, optional, repetitive},
    {"collective_key", integer, optional},
});

constexpr auto range_columns = std::to_array<parquet_column>({
    {"capture", text},
    {"range_id", integer},
    {"parent_id", integer, optional},
    {"type", text},
    {"path", text, optional},
    {"name", text},
    {"domain", text, optional},
    {"depth", integer, !optional, repetitive},
    {"thread", integer, optional, repetitive},
    {"thread_name", text, optional},
    {"start_ns", integer},
    {"end_ns", integer, optional},
    {"host_ns", integer, optional},
    {"host_self_ns", integer, optional},
    {"clock_shift_ns", integer, !optional, repetitive},
    {"step", integer, optional, repetitive},
    {"gpu_sum_ns", integer, optional},
    {"gpu_self_ns", integer, optional},
    {"gpu_operations", integer, optional, repetitive},
    {"adopted_operations", integer, optional, repetitive},
    {"communication_ns", integer, optional},
    {"is_open_at_end", flag},
    {"is_continuation", flag},
});

constexpr auto step_columns = std::to_array<parquet_column>({
    {"capture", text},
    {"rank", integer, !optional, repetitive},
    {"step", integer, !optional, repetitive},
    {"common_step", integer, optional, repetitive},
    {"source", text},
    {"is_counted", flag},
    {"start_ns", integer},
    {"end_ns", integer},
    {"duration_ns", integer},
    {"host_start_ns", integer},
    {"host_end_ns", integer},
    {"clock_shift_ns", integer, !optional, repetitive},
    {"compute_ns", integer, optional},
    {"communication_ns", integer, optional},
    {"copies_ns", integer, optional},
    {"idle_ns", integer, optional},
    {"idle_host_code_ns", integer, optional},
    {"idle_launching_ns", integer, optional},
    {"idle_loader_ns", integer, optional},
    {"idle_compiling_ns", integer, optional},
    {"idle_capturing_ns", integer, optional},
    {"idle_allocating_ns", integer, optional},
    {"idle_latency_ns", integer, optional},
    {"idle_waiting_ns", integer, optional},
    {"idle_pageable_copy_ns", integer, optional},
    {"idle_blocking_copy_ns", integer, optional},
    {"idle_queued_ns", integer, optional},
    {"idle_other_gpu_ns", integer, optional},
    {"idle_not_started_ns", integer, optional},
    {"idle_unknown_ns", integer, optional},
    {"kernels", integer, optional},
    {"beyond_peers_ns", number, optional},
});

constexpr auto collective_columns = std::to_array<parquet_column>({
    {"capture", text},
    {"rank", integer, !optional, repetitive},
    {"step", integer, optional, repetitive},
    {"common_step", integer, optional, repetitive},
    {"communicator", text},
    {"communicator_key", integer, !optional, repetitive},
    {"function", text},
    {"bytes", integer, !optional, repetitive},
    {"sequence", integer, optional},
    {"matched_by", text},
    {"collective_key", integer},
    {"ranks_found", integer, !optional, repetitive},
    {"is_counted", flag},
    {"called_ns", integer},
    {"arrival_ns", integer},
    {"end_ns", integer},
    {"duration_ns", integer},
    {"clock_shift_ns", integer, !optional, repetitive},
    {"exposed_ns", integer},
    {"wait_ns", integer, optional},
    {"transfer_ns", number, optional},
    {"is_last", flag},
    {"clock_error_ns", number, optional},
    {"bus_factor", number, optional},
    {"path", text, optional},
});

constexpr auto process_columns = std::to_array<parquet_column>({
    {"capture", text},
    {"rank", integer},
    {"local_rank", integer, optional},
    {"world_size", integer, optional},
    {"host", text, optional},
    {"pid", integer, optional},
    {"program", text},
    {"command", text, optional},
    {"run_id", text, optional},
    {"file", text},
    {"gpus", text, optional},
    {"start_ns", integer},
    {"end_ns", integer},
    {"recorded_ns", integer},
    {"ending", text, optional},
    {"gpu_operations", integer},
    {"gpu_sum_ns", integer},
    {"is_aligned", flag},
    {"clock_at_ns", integer},
    {"clock_offset_ns", integer},
    {"clock_drift", number},
    {"clock_statistical_error_ns", number, optional},
    {"clock_systematic_error_ns", number, optional},
    {"clock_samples", integer},
    {"libprof", text, optional},
});

constexpr auto note_columns = std::to_array<parquet_column>({
    {"capture", text, optional},
    {"rank", integer, optional},
    {"kind", text},
    {"cause", text, optional},
    {"count", integer, optional},
    {"text", text},
});

}  // namespace

const parquet_table gpu_operations_schema{"gpu_operations", gpu_operation_columns};
const parquet_table ranges_schema{"ranges", range_columns};
const parquet_table steps_schema{"steps", step_columns};
const parquet_table collectives_schema{"collectives", collective_columns};
const parquet_table processes_schema{"processes", process_columns};
const parquet_table notes_schema{"notes", note_columns};

}  // namespace prof
