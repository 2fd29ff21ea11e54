// SPDX-License-Identifier: Apache-2.0
// The moment at which traces and reports begin.
#pragma once

#include <algorithm>
#include <cstdint>

#include "timeline/timeline.hpp"

namespace prof {

// The earliest moment of everything recorded in a capture.
inline std::int64_t earliest_moment(const timeline& data) {
    std::int64_t earliest = data.start_ns;
    const auto recorded = std::find_if(data.ranges.begin(), data.ranges.end(), [](const timeline_range& range) {
        return range.style != range_style::graph_context;
    });
    if (recorded != data.ranges.end()) earliest = std::min(earliest, recorded->start_ns);
    if (!data.api_calls.empty()) earliest = std::min(earliest, data.api_calls.front().start_ns);
    if (!data.marks.empty()) earliest = std::min(earliest, data.marks.front().time_ns);
    if (!data.ops.empty()) earliest = std::min(earliest, data.ops.front().start_ns);
    return earliest;
}

}  // namespace prof
