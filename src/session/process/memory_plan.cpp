// SPDX-License-Identifier: Apache-2.0
#include "session/process/memory_plan.hpp"

#include <algorithm>
#include <bit>

namespace prof {
namespace {

constexpr std::uint32_t narrow(std::uint64_t number) noexcept { return static_cast<std::uint32_t>(number); }

}  // namespace

void divide_memory(std::uint64_t bytes, region_options& rings, tracer_options& cupti) noexcept {
    const std::uint64_t part = bytes / 64;
    // With less memory there are fewer rings in the two lower classes, with more they are larger.
    rings.large_rings = 8;
    rings.medium_rings = narrow(std::min<std::uint64_t>(bytes >> 19, 128));
    rings.small_rings = narrow(std::min<std::uint64_t>(bytes >> 16, 1024));
    rings.large_ring_bytes = narrow(8 * part / rings.large_rings);
    rings.medium_ring_bytes = narrow(8 * part / rings.medium_rings);
    rings.small_ring_bytes = narrow(8 * part / rings.small_rings);
    rings.name_bytes = rings.passing_name_bytes = narrow(2 * part);
    rings.name_slots = rings.passing_name_slots = narrow(std::min<std::uint64_t>(part / 32, 1U << 19));
    rings.writing_bytes = 256U << 10;
    rings.buffer_bytes = cupti.buffer_bytes = part;
    rings.buffer_count = cupti.buffer_count = 20;
}

std::uint64_t fitting_memory(std::uint64_t bytes, std::uint64_t address_space) noexcept {
    constexpr std::uint64_t least = 4U << 20;
    return std::min(bytes, std::max(least, std::bit_floor(address_space / 512)));
}

void divide_childs_memory(region& parent, region_options& rings) noexcept {
    constexpr std::uint32_t least_names = 256U << 10;
    constexpr std::uint32_t usual_name_bytes = 32;  // with the header in front of each
    rings.large_rings = 2;
    rings.medium_rings = 16;
    rings.small_rings = 64;
    rings.large_ring_bytes = 256U << 10;
    rings.medium_ring_bytes = 64U << 10;
    rings.small_ring_bytes = 16U << 10;
    rings.name_bytes = least_names + (parent.names().used_bytes() + 4095U) / 4096U * 4096U;
    rings.name_slots = std::min(2 * std::bit_floor(rings.name_bytes / usual_name_bytes), 1U << 20);
    // relaxed: labels from before the fork are visible.
    const std::uint32_t labels = parent.header().labels_reserved.load(std::memory_order_relaxed);
    rings.label_capacity = 1024 + std::min(labels, parent.header().label_capacity);
    rings.passing_name_bytes = least_names;
    rings.passing_name_slots = least_names / usual_name_bytes;
    rings.writing_bytes = 64U << 10;
    rings.buffer_count = 0;
}

}  // namespace prof
