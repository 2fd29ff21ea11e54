// SPDX-License-Identifier: Apache-2.0
#include "hooks/cupti/activity.hpp"

#include <variant>

#include "record/cupti/cupti_records.hpp"

namespace prof {
namespace {

std::uint32_t intern(region& where, const char* name) noexcept { return name == nullptr ? 0 : where.intern(name); }

template <typename TRecord>
void keep(const TRecord& record, std::vector<TRecord>& out, region& where) {
    if (!is_complete(record)) {
        where.count_drop(drop_cause::cupti_no_timestamp);
    } else {
        out.push_back(record);
    }
}

}  // namespace

void activity_batch::clear() noexcept {
    for_each([](auto& records) { records.clear(); });
}

void activity_batch::reserve_for(std::size_t buffer_bytes) {
    // The smallest sizes of these records in CUPTI 12.0 to 13.
    constexpr std::size_t least_kernel_bytes = 208;
    constexpr std::size_t least_transfer_bytes = 88;
    constexpr std::size_t least_graph_bytes = 48;
    kernels.reserve(buffer_bytes / least_kernel_bytes);
    transfers.reserve(buffer_bytes / least_transfer_bytes);
    graphs.reserve(buffer_bytes / least_graph_bytes);
}

void read_activity_buffer(const cupti_library& cupti, std::uint32_t epoch, std::uint64_t since_ns, region& where,
                          std::uint8_t* data, std::size_t valid_bytes, activity_batch& out) {
    CUpti_Activity* record = nullptr;
    CUptiResult result = CUPTI_SUCCESS;
    while ((result = cupti.next_record(data, valid_bytes, &record)) == CUPTI_SUCCESS) {
        cupti_activity read = read_activity(record, cupti.version, epoch);
        if (auto* const kernel = std::get_if<kernel_record>(&read.value)) {
            kernel->name = intern(where, read.name);
            keep(*kernel, out.kernels, where);
        } else if (const auto* const transfer = std::get_if<transfer_record>(&read.value)) {
            keep(*transfer, out.transfers, where);
        } else if (const auto* const graph = std::get_if<graph_record>(&read.value)) {
            if (graph->start_ns == 0 || graph->start_ns >= since_ns) keep(*graph, out.graphs, where);
        } else if (auto* const device = std::get_if<device_record>(&read.value)) {
            device->name = read.name == nullptr ? 0 : where.keep(read.name);
            out.devices.push_back(*device);
        } else {
            where.count_drop(drop_cause::cupti_unknown_record);
        }
    }
    // The rest of the buffer cannot be read.
    if (result != CUPTI_ERROR_MAX_LIMIT_REACHED) where.count_drop(drop_cause::cupti_error);
}

}  // namespace prof
