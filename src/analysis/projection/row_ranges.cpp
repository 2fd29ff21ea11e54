// SPDX-License-Identifier: Apache-2.0
#include "analysis/projection/row_ranges.hpp"

#include <algorithm>

namespace prof {

std::uint32_t range_with_row(const attribution& att, const row_tree& tree, std::uint32_t range) noexcept {
    while (is_range(range) && tree.node_of(range) == npos) range = att.parent[range];
    return range;
}

std::vector<std::int64_t> host_time_inside(const timeline& data, const row_tree& tree) {
    std::vector<std::int64_t> out(data.ranges.size());
    for (std::uint32_t i = 0; i < data.ranges.size(); ++i) {
        if (tree.node_of(i) == npos) continue;
        const timeline_range& range = data.ranges[i];
        std::uint32_t around = range.parent;
        while (around != npos && tree.node_of(around) == npos) around = data.ranges[around].parent;
        if (around == npos) continue;
        // Pops of two domains may interleave: the inner range may end last.
        const std::int64_t end_ns = std::min(range.inside_until_ns(), data.ranges[around].inside_until_ns());
        out[around] += std::max<std::int64_t>(end_ns - range.start_ns, 0);
    }
    return out;
}

}  // namespace prof
