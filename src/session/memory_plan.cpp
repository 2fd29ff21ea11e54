#include "session/memory_plan.hpp"

#include <algorithm>

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
    rings.name_bytes = narrow(4 * part);
    rings.name_slots = narrow(std::min<std::uint64_t>(part / 16, 1U << 20));
    rings.buffer_bytes = cupti.buffer_bytes = part;
    rings.buffer_count = cupti.buffer_count = 20;
}

}  // namespace prof
