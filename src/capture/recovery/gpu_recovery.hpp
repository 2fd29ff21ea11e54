// What CUPTI had written into a buffer that it never handed back: the process died first. Nobody said how many records
// there are, and the last may be half written: what is taken is what can be a record that has ended.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "record/gpu_record.hpp"

namespace prof {

// How to read the buffers of a process.
struct gpu_buffer_rules {
    std::uint32_t version = 0;  // CUPTI's
    std::uint32_t epoch = 0;
    std::uint64_t since_ns = 0;     // graphs that began before it are no part of the recording
    std::uint64_t earliest_ns = 0;  // times that GPU work of this capture may have
    std::uint64_t latest_ns = UINT64_MAX;
};

struct gpu_buffer_records {
    std::vector<kernel_record> kernels;  // name: 0, it was in the process's memory
    std::vector<transfer_record> transfers;
    std::vector<graph_record> graphs;
    std::vector<device_record> devices;  // name: 0
};

// In the order in which they stand there: that in which the drain thread takes them from a completed buffer.
gpu_buffer_records read_gpu_buffer(std::span<const std::byte> bytes, const gpu_buffer_rules& rules);

}  // namespace prof
