// SPDX-License-Identifier: Apache-2.0
// Adds to the counts of what was lost, by cause (timeline_quality::dropped).
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "timeline/timeline.hpp"

namespace prof {

inline void count_drops(timeline& out, std::string_view cause, std::uint64_t count) {
    if (count != 0) out.quality.dropped[std::string{cause}] += count;
}

}  // namespace prof
