// SPDX-License-Identifier: Apache-2.0
// The arguments of a kernel's event that depend only on its launch shape, as finished text: registers, shared memory,
// occupancy, grid, block, cluster. A training run launches few shapes again and again, so the latest ones are cached.
// One thread; memory is bounded, about 1 MB.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "record/gpu_record.hpp"

namespace prof {

class kernel_shape_args {
public:
    kernel_shape_args() : places_(place_count) {}

    // Returns `"key":value,"key":value`; without occupancy if `device` is null or its limits are unknown. Valid until
    // the next call. REQUIRES: a device index always comes with the same device.
    std::string_view of(const kernel_record& kernel, const device_record* device);

private:
    static constexpr std::size_t place_count = 1U << 12;  // one for each value of a 12-bit hash

    // device, registers, shared memory (low, high), grid, block, cluster
    using shape = std::array<std::uint32_t, 13>;
    struct place {
        shape key{};
        std::string text;  // empty: unused
    };

    std::vector<place> places_;  // by hash of the shape; a new shape replaces the old one
};

}  // namespace prof
