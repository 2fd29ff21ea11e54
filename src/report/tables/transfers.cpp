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
        // Bytes per nanosecond are 10^9 bytes per second.
        row.gigabytes_per_s =
            row.time.total_ns == 0 ? 0 : static_cast<double>(row.bytes) / static_cast<double>(row.time.total_ns);
        rows.push_back(std::move(row));
    }
    // The map gave them by name; equal times stay so.
    std::stable_sort(rows.begin(), rows.end(),
                     [](const transfer_row& a, const transfer_row& b) { return a.time.total_ns > b.time.total_ns; });
    return rows;
}

table copies_report(const report_input& input) {
    table out{"copies", "GPU time by kind of copy and set", {{"operation", "operation"}}, {}, {}};
    add_duration_columns(out.columns);
    out.columns.push_back({"bytes", "bytes", quantity::bytes});
    out.columns.push_back({"min_bytes", "smallest", quantity::bytes, 5});
    out.columns.push_back({"max_bytes", "largest", quantity::bytes, 5});
    out.columns.push_back({"gigabytes_per_s", "GB/s", quantity::number});
    std::int64_t total_ns = 0;
    std::uint64_t instances = 0;
    std::uint64_t bytes = 0;
    std::vector<std::int64_t> totals_ns;
    for (transfer_row& row : transfer_table(data_of_tables(input))) {
        std::vector<table_cell> cells = {std::move(row.operation)};
        add_durations(cells, row.share, row.time);
        cells.insert(cells.end(), {row.bytes, row.min_bytes, row.max_bytes, row.gigabytes_per_s});
        out.rows.push_back(std::move(cells));
        total_ns += row.time.total_ns;
        totals_ns.push_back(row.time.total_ns);
        instances += row.time.instances;
        add_saturating(bytes, row.bytes);
    }
    out.totals = {{"total_ns", total_ns}};
    table_row& sum = out.sums.emplace_back(table_row{std::string("total")});
    add_duration_sums(sum, instances, total_ns);
    const double rate = total_ns == 0 ? 0 : static_cast<double>(bytes) / static_cast<double>(total_ns);
    sum.insert(sum.end(), {bytes, blank_cell(), blank_cell(), rate});
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
    return time_summary({"cuda_gpu_mem_time_sum", "Copies and sets by time", {}, {}, {}}, "Count", "Operation",
                        durations_ns, "no copy or set was recorded");
}

table cuda_gpu_mem_size_sum(const report_input& input) {
    std::map<std::string, std::vector<std::int64_t>> bytes;
    for (const gpu_op& op : input.data.ops) {
        if (!is_transfer(op.kind)) continue;
        const transfer_record& transfer = input.data.transfers[op.detail];
        bytes[nsight_name(transfer)].push_back(static_cast<std::int64_t>(transfer.bytes));
    }
    table out{"cuda_gpu_mem_size_sum", "Copies and sets by size", {}, {}, {}};
    const auto add_column = [&](const std::string& name, int importance = 0) {
        out.columns.push_back({name + " (MB)", name + " (MB)", quantity::number, importance, 3});
    };
    add_column("Total");
    out.columns.push_back(count_column("Count"));
    add_column("Avg");
    add_column("Med", 1);
    add_column("Min", 2);
    add_column("Max", 2);
    add_column("StdDev", 3);
    out.columns.push_back(text_column("Operation"));
    constexpr double bytes_per_mb = 1e6;
    std::vector<std::pair<std::int64_t, std::vector<table_cell>>> rows;
    for (const auto& [name, of] : bytes) {
        const duration_statistics all = summarize(of);
        rows.emplace_back(all.total_ns,
                          std::vector<table_cell>{static_cast<double>(all.total_ns) / bytes_per_mb, all.instances,
                                                  all.mean_ns / bytes_per_mb, all.median_ns / bytes_per_mb,
                                                  static_cast<double>(all.min_ns) / bytes_per_mb,
                                                  static_cast<double>(all.max_ns) / bytes_per_mb,
                                                  all.stddev_ns / bytes_per_mb, name});
    }
    out.rows = largest_first(std::move(rows));
    return or_none(std::move(out), "no copy or set was recorded");
}

}  // namespace prof
