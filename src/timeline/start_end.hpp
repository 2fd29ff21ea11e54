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
        std::size_t window = 0;  // match_start_end() fills it in
    };
    struct end {
        std::uint64_t id = 0;
        std::int64_t time_ns = 0;
        std::uint32_t thread = npos;
        std::size_t window = 0;  // as a start's
    };
    std::vector<start> starts;
    std::vector<end> ends;
};

// Gives each started range its end, by id, if that lies in the same window; those without one get open_at_end and
// never_ended. Of an id used more than once (by a process that was attached again) starts and ends pair up in order of
// time. Returns the number of ends without a start.
std::uint64_t match_start_end(std::vector<timeline_range>& ranges, start_end_events events,
                              const std::vector<timeline_window>& windows);

}  // namespace prof
