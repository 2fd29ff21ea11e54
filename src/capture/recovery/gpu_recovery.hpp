// SPDX-License-Identifier: Apache-2.0
// Reads the records from a buffer that CUPTI had not handed back when the process died. The number of records is
// unknown, and the last one may be half written. So everything that can be a finished record is taken.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "record/gpu_record.hpp"

namespace prof {

// The parameters for reading the buffers of one process.
struct gpu_buffer_rules {
    std::uint32_t version = 0;  // CUPTI's version
    std::uint32_t epoch = 0;
    std::uint64_t since_ns = 0;     // graph launches that began earlier are not part of the recording
    std::uint64_t earliest_ns = 0;  // limits for the times of GPU work in this capture
    std::uint64_t latest_ns = UINT64_MAX;
};

// The records in their order in the buffer, which is also the drain thread's order for a completed buffer. Names of
// kernels and devices are 0: they were in the process's memory.
gpu_records read_gpu_buffer(std::span<const std::byte> bytes, const gpu_buffer_rules& rules);

}  // namespace prof
