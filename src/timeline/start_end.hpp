// SPDX-License-Identifier: Apache-2.0
// Matches start/end ranges, which are process-wide, have an id, and may be ended by any thread: a step of
// build_timeline(). One thread; O(n log n) in their starts and ends.
#pragma once

#include <cstdint>
#include <vector>

#include "timeline/timeline.hpp"

namespace prof {

// The temporary end of a range without an end, until build_timeline() has the capture's end.
inline constexpr std::int64_t never_ended = INT64_MIN;

struct start_end_events {
    struct start {
        std::uint64_t id = 0;
        range_id range = npos;
        std::size_t window = 0;  // set by match_start_end()
    };
    struct end {
        std::uint64_t id = 0;
        std::int64_t time_ns = 0;
        thread_id thread = npos;
        std::size_t window = 0;  // likewise
    };
    std::vector<start> starts;
    std::vector<end> ends;
};

// Gives each started range its end, by id, if both lie in the same window. The others get open_at_end and never_ended.
// If an id is used more than once (the process was attached again), starts and ends pair up in order of time. Returns
// the number of ends without a start.
std::uint64_t match_start_end(std::vector<timeline_range>& ranges, start_end_events events,
                              const std::vector<timeline_window>& windows);

}  // namespace prof
