// SPDX-License-Identifier: Apache-2.0
// How long the drain thread rests between two rounds. A pure function.
#pragma once

#include <algorithm>
#include <chrono>
#include <cstdint>

namespace prof {

inline constexpr std::chrono::microseconds shortest_drain_pause{200};
inline constexpr std::chrono::microseconds longest_drain_pause{20'000};
// A thread that comes late has a ring of 64 KB or less (region_options). XLA's thread, which executes a step, writes
// 200 records a millisecond at once, after a long time of compilation in which nearly none came: 10 ms fill its ring.
inline constexpr std::chrono::microseconds longest_pause_with_small_rings{5'000};
inline constexpr std::uint32_t small_ring_slots = 8'192;  // as many as come in 40 ms at that rate

// Halves the pause when a ring is more than an eighth full, so that a burst twice as fast still fits. Lengthens it
// slowly when all rings are nearly empty. `fullest`: of the fullest ring, 0 to 1. `has_small_ring`: a living thread has
// a ring with fewer slots than small_ring_slots.
constexpr std::chrono::microseconds next_drain_pause(std::chrono::microseconds pause, double fullest,
                                                     bool has_small_ring) noexcept {
    const std::chrono::microseconds longest = has_small_ring ? longest_pause_with_small_rings : longest_drain_pause;
    if (fullest > 0.125) return std::clamp(pause / 2, shortest_drain_pause, longest);
    if (fullest < 0.03) return std::min(longest, pause + pause / 4);
    return std::min(longest, pause);
}

}  // namespace prof
