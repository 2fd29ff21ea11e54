// SPDX-License-Identifier: Apache-2.0
// How records of an allocator's blocks hold their numbers. A record has no room for four numbers of 64 bits, but the
// caching allocator's sizes are multiples of 512 bytes: in these units 32 bits reach to 2 TiB. What does not fit is
// written exactly, in two records. Part of the capture format. Pure functions; a few instructions.
#pragma once

#include <cstdint>
#include <limits>

#include "record/record.hpp"

namespace prof {

enum memory_flags : std::uint8_t {
    memory_is_freed = 1,       // the block came back
    memory_totals_follow = 2,  // the bytes are whole numbers, and a record memory_totals has the rest
};

inline constexpr std::uint64_t memory_unit = 512;

// A change of an allocator's memory, as it reports it.
struct memory_change {
    std::uint64_t address = 0;
    std::uint64_t bytes = 0;
    std::uint64_t allocated = 0;  // of the device, afterwards
    std::uint64_t reserved = 0;
    bool is_freed = false;
};

// A device of any kind, in a record's `domain`: PyTorch's number of the kind (1: CUDA), and the index. From own_memory
// on the kind is one of CUDA's own memory, cuda_memory_kind, of which it is not the allocator that reports: the bytes
// are whole, no totals follow, and of a block that comes back they are 0.
constexpr std::uint16_t packed_device(std::uint8_t kind, std::uint8_t index) noexcept {
    return static_cast<std::uint16_t>(kind << 8 | index);
}

enum class cuda_memory_kind : std::uint8_t {
    device = 0x80,      // cudaMalloc
    pool = 0x81,        // cudaMallocAsync, of a pool of CUDA's
    managed = 0x82,     // cudaMallocManaged
    physical = 0x83,    // cuMemCreate: value is its handle
    pinned = 0x84,      // of the host: cudaMallocHost
    registered = 0x85,  // of the program's own memory: cudaHostRegister
    freed = 0x86,       // by an address alone: any of these but `physical`
};
inline constexpr std::uint8_t own_memory = 0x80;
constexpr bool is_own_memory(std::uint16_t device) noexcept { return device >> 8 >= own_memory; }
constexpr cuda_memory_kind own_memory_kind(std::uint16_t device) noexcept {
    return static_cast<cuda_memory_kind>(device >> 8);
}
// Whether it is memory of a GPU.
constexpr bool is_of_gpu(cuda_memory_kind kind) noexcept { return kind < cuda_memory_kind::pinned; }

constexpr bool fits_in_units(std::uint64_t bytes) noexcept {
    return bytes % memory_unit == 0 && bytes / memory_unit <= std::numeric_limits<std::uint32_t>::max();
}
constexpr bool fits_in_one_record(const memory_change& change) noexcept {
    return fits_in_units(change.bytes) && fits_in_units(change.allocated) && fits_in_units(change.reserved);
}

constexpr std::uint32_t low_half(std::uint64_t value) noexcept { return static_cast<std::uint32_t>(value); }
constexpr std::uint32_t high_half(std::uint64_t value) noexcept { return static_cast<std::uint32_t>(value >> 32); }
constexpr std::uint64_t whole(std::uint32_t low, std::uint32_t high) noexcept {
    return std::uint64_t{high} << 32 | low;
}

// Fills a record of CUDA's own memory that has its kind, device and time.
constexpr void pack_own(record& out, std::uint64_t address, std::uint64_t bytes, bool is_freed) noexcept {
    out.value = address;
    out.name = low_half(bytes);
    out.color = high_half(bytes);
    out.flags = static_cast<std::uint8_t>((is_freed ? memory_is_freed : 0) | memory_totals_follow);
}

// Fills a record that has its kind, device and time.
constexpr void pack(record& out, const memory_change& change) noexcept {
    const bool is_short = fits_in_one_record(change);
    out.value = change.address;
    out.name = is_short ? low_half(change.bytes / memory_unit) : low_half(change.bytes);
    out.color = is_short ? low_half(change.allocated / memory_unit) : high_half(change.bytes);
    out.category = is_short ? low_half(change.reserved / memory_unit) : 0;
    out.flags =
        static_cast<std::uint8_t>((change.is_freed ? memory_is_freed : 0) | (is_short ? 0 : memory_totals_follow));
}
// The same of its totals.
constexpr void pack_totals(record& out, std::uint64_t allocated, std::uint64_t reserved) noexcept {
    out.value = allocated;
    out.name = low_half(reserved);
    out.color = high_half(reserved);
}

// The totals are 0 where those of another record follow.
constexpr memory_change unpacked(const record& block) noexcept {
    const bool is_freed = (block.flags & memory_is_freed) != 0;
    if ((block.flags & memory_totals_follow) != 0) {
        return {.address = block.value, .bytes = whole(block.name, block.color), .is_freed = is_freed};
    }
    return {.address = block.value,
            .bytes = block.name * memory_unit,
            .allocated = block.color * memory_unit,
            .reserved = block.category * memory_unit,
            .is_freed = is_freed};
}

}  // namespace prof
