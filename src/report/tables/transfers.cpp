// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <array>
#include <cstddef>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "report/makers.hpp"
#include "report/tables/durations.hpp"
#include "report/tables/kernels.hpp"
#include "report/tables/nsight_columns.hpp"
#include "report/tables/table_of_step.hpp"

namespace prof {
namespace {

// By CUpti_ActivityMemcpyKind: Nsight's words for the same directions.
constexpr std::array<std::string_view, 11> nsight_directions = {
    "Unknown",         "Host-to-Device",  "Device-to-Host",   "Host-to-Array", "Array-to-Host", "Array-to-Array",
    "Array-to-Device", "Device-to-Array", "Device-to-Device", "Host-to-Host",  "Peer-to-Peer"};

std::string nsight_name(const transfer_record& transfer) {
    if (transfer.kind == transfer_kind::memset) return "[CUDA memset]";
    const std::size_t direction = transfer.copy_kind < nsight_directions.size() ? transfer.copy_kind : 0;
    return "[CUDA memcpy " + std::string(nsight_directions[direction]) + "]";
}

// Bytes per nanosecond are 10^9 bytes per second.
double rate_of(const transfer_row& row) {
    return row.time.total_ns == 0 ? 0 : static_cast<double>(row.bytes) / static_cast<double>(row.time.total_ns);
}

}  // namespace

std::vector<transfer_row> transfer_table(const timeline& data) {
    struct instances {
        std::vector<std::int64_t> durations_ns;
        std::uint64_t bytes = 0;
        std::uint64_t min_bytes = UINT64_MAX;
        std::uint64_t max_bytes = 0;
    };
    std::map<std::string, instances> by_operation;
    std::int64_t total_ns = 0;
    for (const gpu_op& op : data.ops) {
        if (!is_transfer(op.kind)) continue;
        const transfer_record& transfer = data.transfers[op.detail];
        instances& operation = by_operation[transfer_name(transfer)];
        operation.durations_ns.push_back(op.end_ns - op.start_ns);
        operation.bytes += transfer.bytes;
        operation.min_bytes = std::min(operation.min_bytes, transfer.bytes);
        operation.max_bytes = std::max(operation.max_bytes, transfer.bytes);
        total_ns += op.end_ns - op.start_ns;
    }

    std::vector<transfer_row> rows;
    for (const auto& [name, operation] : by_operation) {
        transfer_row row;
        row.operation = name;
        row.time = summarize(operation.durations_ns);
        row.share = share_of(row.time.total_ns, total_ns);
        row.bytes = operation.bytes;
        row.min_bytes = operation.min_bytes;
        row.max_bytes = operation.max_bytes;
        row.gigabytes_per_s = rate_of(row);
        rows.push_back(std::move(row));
    }
    // The map gave them by name; equal times stay so.
    std::stable_sort(rows.begin(), rows.end(),
                     [](const transfer_row& a, const transfer_row& b) { return a.time.total_ns > b.time.total_ns; });
    return rows;
}

table copies_report(const report_input& input) {
    report_columns<transfer_row> columns = {{{"operation", "operation"}, &transfer_row::operation, true}};
    append(columns, duration_columns(&transfer_row::share, &transfer_row::time));
    append(columns, {{{"bytes", "bytes", quantity::bytes}, &transfer_row::bytes, true},
                     {{"min_bytes", "smallest", quantity::bytes, 5}, &transfer_row::min_bytes},
                     {{"max_bytes", "largest", quantity::bytes, 5}, &transfer_row::max_bytes},
                     {{"gigabytes_per_s", "GB/s", quantity::number}, &transfer_row::gigabytes_per_s, true}});
    const std::vector<transfer_row> rows = transfer_table(data_of_tables(input));
    transfer_row all{.operation = "total"};
    std::vector<std::int64_t> totals_ns;
    for (const transfer_row& row : rows) {
        all.time.total_ns += row.time.total_ns;
        all.time.instances += row.time.instances;
        totals_ns.push_back(row.time.total_ns);
        add_saturating(all.bytes, row.bytes);
    }
    all.gigabytes_per_s = rate_of(all);
    table out = make_table("copies", "GPU time by kind of copy and set", columns, rows);
    out.totals = {{"total_ns", all.time.total_ns}};
    out.sums = {sums_of(columns, all)};
    out.unit_ns = typical_time(std::move(totals_ns));
    out.legend = {{"%", "%: of the time of all copies and sets."}};
    if (input.step != nullptr) {
        out.heading = "GPU time of a step, by kind of copy and set";
        make_durations_of_step(out, *input.step);
        divide_bytes(out, "bytes", *input.step);
        return or_none(std::move(out), "nothing was copied or set in a step");
    }
    return or_none(std::move(out), "no copy or set was recorded");
}

table cuda_gpu_mem_time_sum(const report_input& input) {
    std::map<std::string, std::vector<std::int64_t>> durations_ns;
    for (const gpu_op& op : input.data.ops) {
        if (!is_transfer(op.kind)) continue;
        durations_ns[nsight_name(input.data.transfers[op.detail])].push_back(op.end_ns - op.start_ns);
    }
    return time_summary("cuda_gpu_mem_time_sum", "Copies and sets by time", "Count", "Operation", durations_ns,
                        "no copy or set was recorded");
}

table cuda_gpu_mem_size_sum(const report_input& input) {
    std::map<std::string, std::vector<std::int64_t>> bytes;
    for (const gpu_op& op : input.data.ops) {
        if (!is_transfer(op.kind)) continue;
        const transfer_record& transfer = input.data.transfers[op.detail];
        bytes[nsight_name(transfer)].push_back(static_cast<std::int64_t>(transfer.bytes));
    }
    const auto megabytes = [](const char* name, int importance, auto figure) {
        return report_column<named_times>{
            {std::string(name) + " (MB)", std::string(name) + " (MB)", quantity::number, importance, 3},
            [figure](const named_times& row) { return static_cast<double>(row.time.*figure) / 1e6; }};
    };
    const report_columns<named_times> columns = {
        megabytes("Total", 0, &duration_statistics::total_ns),
        {count_column("Count"), [](const named_times& row) { return row.time.instances; }},
        megabytes("Avg", 0, &duration_statistics::mean_ns),
        megabytes("Med", 1, &duration_statistics::median_ns),
        megabytes("Min", 2, &duration_statistics::min_ns),
        megabytes("Max", 2, &duration_statistics::max_ns),
        megabytes("StdDev", 3, &duration_statistics::stddev_ns),
        {text_column("Operation"), &named_times::name}};
    std::vector<named_times> rows;
    rows.reserve(bytes.size());
    for (const auto& [name, sizes] : bytes) rows.push_back({.name = name, .time = summarize(sizes)});
    rows = largest_first(std::move(rows), [](const named_times& row) { return row.time.total_ns; });
    return or_none(make_table("cuda_gpu_mem_size_sum", "Copies and sets by size", columns, rows),
                   "no copy or set was recorded");
}

}  // namespace prof
