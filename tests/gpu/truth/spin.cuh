// SPDX-License-Identifier: Apache-2.0
// A kernel's body that runs for a known time and writes down when, by the GPU's own clock.
#pragma once

#include <cstdint>

#include "kernels.hpp"

namespace truth {

__device__ inline unsigned long long now_ns() {
    unsigned long long now = 0;
    asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(now));
    return now;
}

// `act` is done in the known time.
template <typename TAct>
__device__ void spin_and_stamp(unsigned long long ns, stamp* stamps, std::uint32_t* turn, TAct act) {
    constexpr std::uint32_t never = 0xFFFFFFFFU;
    const unsigned long long start = now_ns();
    const std::uint32_t place = atomicAdd(turn, 1U);
    act();
    // Waits for `place` too: else the end would be read while the memory still works on it, outside the known time.
    while (now_ns() - start < ns || place == never) {
    }
    const unsigned long long end = now_ns();
    stamps[place].start_ns = start;
    stamps[place].end_ns = end;
}

}  // namespace truth
