// Start/end ranges: process-wide, known by an id, ended by any thread.
#pragma once

#include <cstdint>
#include <vector>

#include "timeline/timeline.hpp"

namespace prof {

// The end of a range that nothing ended, until build_timeline() knows the capture's.
inline constexpr std::int64_t never_ended = INT64_MIN;

struct start_end_events {
    struct start {
        std::uint64_t id = 0;
        std::uint32_t range = npos;
    };
    struct end {
        std::uint64_t id = 0;
        std::int64_t time_ns = 0;
        std::uint32_t thread = npos;
    };
    std::vector<start> starts;
    std::vector<end> ends;
};

// Gives each started range its end, by id; those without one get open_at_end and never_ended. Of an id used more than
// once (by a process that was attached again) starts and ends pair up in order of time. Returns the number of ends
// without a start.
std::uint64_t match_start_end(std::vector<timeline_range>& ranges, start_end_events events);

}  // namespace prof
