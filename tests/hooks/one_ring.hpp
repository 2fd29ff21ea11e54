// SPDX-License-Identifier: Apache-2.0
// The least region that hooks can write to: one ring, and no room for CUPTI's buffers.
#pragma once

#include "ring/region.hpp"

namespace prof::test {

inline region_options one_ring() {
    region_options options;
    options.place = "memory";
    options.large_rings = 1;
    options.large_ring_bytes = 4096;
    options.medium_rings = 0;
    options.small_rings = 0;
    options.name_bytes = 64U << 10;
    options.name_slots = 256;
    return options;
}

}  // namespace prof::test
