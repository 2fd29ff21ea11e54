// From CUPTI's activity records to ours, by the layout of their version. Pure functions of the bytes: the drain thread
// reads with them what CUPTI hands over, recovery what a process that died had in its buffers.
#pragma once

#include <cstddef>
#include <cstdint>
#include <variant>

#include "record/gpu_record.hpp"

namespace prof {

struct cupti_activity {
    // monostate: of a kind that is not asked for. Names are left 0.
    std::variant<std::monostate, kernel_record, transfer_record, graph_record, device_record> value;
    const char* name = nullptr;  // the kernel's or the device's, in the memory of the process that has the record
};

// REQUIRES: layout::record_bytes() of its kind can be read there, if that is known.
cupti_activity read_activity(const void* record, std::uint32_t version, std::uint32_t epoch) noexcept;

// Forced flushes hand over records that have not ended.
template <typename TRecord>
constexpr bool is_complete(const TRecord& record) noexcept {
    return record.start_ns != 0 && record.end_ns != 0;
}

}  // namespace prof
