// SPDX-License-Identifier: Apache-2.0
// Converts CUPTI's activity records to libprof's, by the layout of their CUPTI version. Pure functions of the bytes:
// the drain thread uses them for completed buffers, recovery for the buffers of a dead process.
#pragma once

#include <cstddef>
#include <cstdint>
#include <variant>

#include "record/gpu_record.hpp"

namespace prof {

struct cupti_activity {
    // monostate: a kind that libprof does not enable. The `name` fields are left 0.
    std::variant<std::monostate, kernel_record, transfer_record, graph_record, device_record> value;
    const char* name = nullptr;  // of the kernel or device, in the memory of the process that made the record
};

// REQUIRES: layout::record_bytes() of the record's kind are readable, if that size is known.
cupti_activity read_activity(const void* record, std::uint32_t version, std::uint32_t epoch) noexcept;

// Forced flushes also return records that have not ended.
template <typename TRecord>
constexpr bool is_complete(const TRecord& record) noexcept {
    return record.start_ns != 0 && record.end_ns != 0;
}

}  // namespace prof
