// SPDX-License-Identifier: Apache-2.0
// A timeline with only some of its ranges, calls, operations and marks: what all reports are then made from, unchanged.
// Names, threads, devices, graph nodes and the notes on quality are those of the whole. Pure; linear in the timeline,
// also in memory for what is kept.
#pragma once

#include <cstdint>
#include <vector>

#include "analysis/attribution/attribution.hpp"
#include "analysis/selection/time_spans.hpp"
#include "timeline/timeline.hpp"

namespace prof {

struct kept_entities {
    // By index: 1 if it is kept.
    row_values<range_id, std::uint8_t> ranges{};
    row_values<replayed_id, std::uint8_t> replayed{};  // of the attribution
    row_values<call_id, std::uint8_t> calls{};
    row_values<op_id, std::uint8_t> ops{};
    row_values<mark_id, std::uint8_t> marks{};
};

// Ranges and windows are cut to `times`, unless it is null. A kept operation whose call is not kept has no launch.
// `att` becomes that of the result.
timeline part_of(const timeline& whole, attribution& att, const kept_entities& kept, const time_spans* times);

// What every part has of the whole as it is: properties, threads, domains, the names of categories and streams, places,
// devices and the notes on quality. `is_cut`: the part is one of times.
timeline frame_of(const timeline& whole, bool is_cut);

}  // namespace prof
