// What a launch's shape says about how full the GPU was: the three figures Kineto's traces carry with every kernel.
// An estimate from resource limits (threads, blocks, registers, shared memory), as NVIDIA's occupancy calculator makes
// it; nothing is measured. Unlike Kineto's it grants a kernel the shared memory beyond 48 KB that it must have opted
// into, since the kernel did run. Pure functions; any thread.
#pragma once

#include <cstdint>
#include <optional>

#include "record/gpu_record.hpp"

namespace prof {

struct occupancy {
    float blocks_per_sm = 0;   // blocks of the grid / multiprocessors
    float warps_per_sm = 0;    // warps of the grid / multiprocessors
    int achieved_percent = 0;  // threads resident on a multiprocessor, of those it can hold
};

// How many blocks of this kernel one multiprocessor can hold at once.
std::uint32_t max_blocks_per_sm(const device_record& device, const kernel_record& kernel) noexcept;

// Nothing when the device's limits are not known.
std::optional<occupancy> estimate_occupancy(const device_record& device, const kernel_record& kernel) noexcept;

}  // namespace prof
