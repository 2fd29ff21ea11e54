// SPDX-License-Identifier: Apache-2.0
#include "export/chrome/occupancy.hpp"

#include <algorithm>
#include <cmath>

namespace prof {
namespace {

constexpr std::uint64_t divide_up(std::uint64_t a, std::uint64_t b) noexcept { return (a + b - 1) / b; }
constexpr std::uint64_t round_up(std::uint64_t a, std::uint64_t to) noexcept { return divide_up(a, to) * to; }

std::uint64_t threads_per_block(const kernel_record& kernel) noexcept {
    return std::uint64_t{kernel.block[0]} * kernel.block[1] * kernel.block[2];
}

constexpr std::uint64_t no_limit = UINT32_MAX;

// Registers are allocated to whole warps in units of 256. Each quarter of a multiprocessor (on 6.0 each half) has its
// own.
std::uint64_t blocks_by_registers(const device_record& device, std::uint64_t registers_per_thread,
                                  std::uint64_t warps_per_block) noexcept {
    constexpr std::uint64_t unit = 256;
    const std::uint64_t partitions =
        device.compute_capability_major == 6 && device.compute_capability_minor == 0 ? 2 : 4;
    const std::uint64_t registers_per_warp = round_up(registers_per_thread * device.warp_size, unit);
    if (registers_per_warp == 0) return no_limit;
    const std::uint64_t warps = device.registers_per_multiprocessor / partitions / registers_per_warp * partitions;
    return warps / warps_per_block;
}

// From compute capability 8 on, the driver reserves 1 KB for each block, and the allocation unit is smaller.
std::uint64_t blocks_by_shared_memory(const device_record& device, std::uint64_t shared_bytes) noexcept {
    const bool has_reserve = device.compute_capability_major >= 8;
    const std::uint64_t taken = round_up(shared_bytes + (has_reserve ? 1024 : 0), has_reserve ? 128 : 256);
    return taken == 0 ? no_limit : device.shared_bytes_per_multiprocessor / taken;
}

}  // namespace

std::uint32_t max_blocks_per_sm(const device_record& device, const kernel_record& kernel) noexcept {
    const std::uint64_t warps_per_block = divide_up(threads_per_block(kernel), device.warp_size);
    if (warps_per_block == 0) return 0;
    const std::uint64_t by_warps = device.max_threads_per_multiprocessor / device.warp_size / warps_per_block;
    const std::uint64_t by_blocks =
        device.max_blocks_per_multiprocessor == 0 ? no_limit : device.max_blocks_per_multiprocessor;
    const std::uint64_t by_registers = blocks_by_registers(device, kernel.registers_per_thread, warps_per_block);
    const std::uint64_t by_shared =
        blocks_by_shared_memory(device, std::uint64_t{kernel.static_shared_bytes} + kernel.dynamic_shared_bytes);
    return static_cast<std::uint32_t>(std::min({by_warps, by_blocks, by_registers, by_shared}));
}

std::optional<occupancy> estimate_occupancy(const device_record& device, const kernel_record& kernel) noexcept {
    if (device.multiprocessors == 0 || device.warp_size == 0 || device.max_threads_per_multiprocessor == 0 ||
        device.registers_per_multiprocessor == 0 || device.shared_bytes_per_multiprocessor == 0) {
        return std::nullopt;
    }
    const auto blocks = static_cast<float>(std::uint64_t{kernel.grid[0]} * kernel.grid[1] * kernel.grid[2]);
    const auto threads = static_cast<float>(threads_per_block(kernel));
    occupancy out;
    out.blocks_per_sm = blocks / static_cast<float>(device.multiprocessors);
    out.warps_per_sm = out.blocks_per_sm * threads / static_cast<float>(device.warp_size);
    const float resident = std::min(out.blocks_per_sm, static_cast<float>(max_blocks_per_sm(device, kernel)));
    const float share = resident * threads / static_cast<float>(device.max_threads_per_multiprocessor);
    out.achieved_percent = static_cast<int>(std::lround(100.0F * share));
    return out;
}

}  // namespace prof
