// The arguments of a kernel's event that its launch's shape alone decides (registers, shared memory, occupancy, grid,
// block, cluster), as ready text. A training run launches few shapes over and over, so the latest are remembered.
// One thread; memory bounded, about 1 MB.
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

    // `"key":value,"key":value`; without occupancy if `device` is null or its limits are not known. Valid until the
    // next call. A device index always comes with the same device.
    std::string_view of(const kernel_record& kernel, const device_record* device);

private:
    static constexpr std::size_t place_count = 1U << 12;  // as many as 12 bits of hash tell apart

    // device, registers, shared memory (low, high), grid, block, cluster
    using shape = std::array<std::uint32_t, 13>;
    struct place {
        shape key{};
        std::string text;  // empty: not yet used
    };

    std::vector<place> places_;  // by the shape's hash; a new one replaces what was there
};

}  // namespace prof
