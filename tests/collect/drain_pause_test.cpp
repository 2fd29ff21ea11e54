// SPDX-License-Identifier: Apache-2.0
// Rings are simulated: a thread writes at a rate, the drain thread empties its ring after each pause.
#include "collect/drain_pause.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <vector>

namespace prof::drain_pause_test {
namespace {

using std::chrono::microseconds;

struct stretch {
    microseconds length{};
    double records_a_ms = 0;
};

// Records that found no room, where the drain thread had long found nothing before.
std::uint64_t lost(std::uint32_t slots, const std::vector<stretch>& work, bool is_told_of_small_rings = true) {
    const bool is_small = slots < small_ring_slots && is_told_of_small_rings;
    microseconds pause = longest_drain_pause;
    for (int round = 0; round < 100; ++round) pause = next_drain_pause(pause, 0, is_small);
    double in_ring = 0;
    double out = 0;
    microseconds until = pause;
    for (const stretch& part : work) {
        for (microseconds at{0}; at < part.length; at += microseconds{100}) {
            in_ring += part.records_a_ms / 10;
            out += std::max(0.0, in_ring - slots);
            in_ring = std::min<double>(in_ring, slots);
            until -= microseconds{100};
            if (until > microseconds{0}) continue;
            pause = next_drain_pause(pause, in_ring / slots, is_small);
            until = pause;
            in_ring = 0;
        }
    }
    return static_cast<std::uint64_t>(out);
}

constexpr std::uint32_t slots_of_64_kb = 2'048;
constexpr std::uint32_t slots_of_1_mb = 32'768;

// As XLA's thread writes, which comes late and has one of the smaller rings: after a long silence, or step by step.
TEST(DrainPause, KeepsUpWithABurstInASmallRing) {
    const std::vector<stretch> burst = {{microseconds{100'000}, 200}};
    EXPECT_EQ(lost(slots_of_64_kb, burst), 0U);
    EXPECT_GT(lost(slots_of_64_kb, burst, false), 1'000U);  // with the longest pause
    std::vector<stretch> steps;
    for (int step = 0; step < 200; ++step) {
        steps.push_back({microseconds{2'000}, 200});
        steps.push_back({microseconds{30'000}, 0});
    }
    EXPECT_EQ(lost(slots_of_64_kb, steps), 0U);
}

TEST(DrainPause, IsLongWhereRingsAreLarge) {
    EXPECT_EQ(lost(slots_of_1_mb, {{microseconds{100'000}, 1'500}}), 0U);
    microseconds pause = shortest_drain_pause;
    for (int round = 0; round < 100; ++round) pause = next_drain_pause(pause, 0.01, false);
    EXPECT_EQ(pause, longest_drain_pause);
    EXPECT_EQ(next_drain_pause(pause, 0.01, true), longest_pause_with_small_rings);
    EXPECT_EQ(next_drain_pause(pause, 0.5, false), longest_drain_pause / 2);
    EXPECT_EQ(next_drain_pause(shortest_drain_pause, 1, false), shortest_drain_pause);
}

}  // namespace
}  // namespace prof::drain_pause_test
