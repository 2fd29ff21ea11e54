// SPDX-License-Identifier: Apache-2.0
// Estimates from a launch's shape how full the GPU was: the three figures that Kineto's traces give for every kernel.
// The estimate follows from resource limits (threads, blocks, registers, shared memory), as in NVIDIA's occupancy
// calculator; nothing is measured. Unlike Kineto's, it allows a kernel shared memory beyond 48 KB: since the kernel
// ran, it must have opted in. Pure functions; any thread.
#pragma once

#include <cstdint>
#include <optional>

#include "record/gpu_record.hpp"

namespace prof {

struct occupancy {
    float blocks_per_sm = 0;   // blocks of the grid / multiprocessors
    float warps_per_sm = 0;    // warps of the grid / multiprocessors
    int achieved_percent = 0;  // threads resident on a multiprocessor, in percent of its maximum
};

// The number of blocks of this kernel that one multiprocessor can hold at once.
std::uint32_t max_blocks_per_sm(const device_record& device, const kernel_record& kernel) noexcept;

// Nothing if the device's limits are unknown.
std::optional<occupancy> estimate_occupancy(const device_record& device, const kernel_record& kernel) noexcept;

}  // namespace prof
