#include <algorithm>
#include <array>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "analysis/durations.hpp"
#include "analysis/kernels.hpp"

namespace prof {
namespace {

// By CUpti_ActivityMemcpyKind and CUpti_ActivityMemoryKind.
constexpr std::array<std::string_view, 11> copy_directions = {"Unknown", "HtoD", "DtoH", "HtoA", "AtoH", "AtoA",
                                                              "AtoD",    "DtoA", "DtoD", "HtoH", "PtoP"};
constexpr std::array<std::string_view, 8> memory_kinds = {"Unknown", "Pageable", "Pinned",        "Device",
                                                          "Array",   "Managed",  "Device Static", "Managed Static"};

template <std::size_t size>
std::string word(const std::array<std::string_view, size>& words, std::size_t index) {
    return std::string{index < size ? words[index] : words[0]};
}

}  // namespace

std::string transfer_name(const transfer_record& transfer) {
    const std::string to = word(memory_kinds, transfer.destination_kind);
    if (transfer.kind == transfer_kind::memset) return "Memset (" + to + ")";
    return "Memcpy " + word(copy_directions, transfer.copy_kind) + " (" + word(memory_kinds, transfer.source_kind) +
           " -> " + to + ")";
}

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
        if (op.kind != op_kind::memcpy && op.kind != op_kind::memset) continue;
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

}  // namespace prof
