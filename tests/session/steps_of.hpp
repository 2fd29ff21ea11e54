// SPDX-License-Identifier: Apache-2.0
// Which steps a capture has.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "timeline/timeline.hpp"

namespace prof::test {

// The numbers of the ranges named "step", in order; one that is cut at the front or the end among them.
inline std::vector<std::uint64_t> steps_of(const timeline& data) {
    std::vector<std::uint64_t> out;
    for (const timeline_range& range : data.ranges) {
        if (data.name(range.name) == "step") out.push_back(range.payload);
    }
    std::sort(out.begin(), out.end());
    return out;
}

}  // namespace prof::test
