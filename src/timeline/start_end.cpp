#include "timeline/start_end.hpp"

#include <algorithm>
#include <tuple>

namespace prof {

std::uint64_t match_start_end(std::vector<timeline_range>& ranges, start_end_events events) {
    std::sort(events.starts.begin(), events.starts.end(), [&](const auto& a, const auto& b) {
        return std::tuple{a.id, ranges[a.range].start_ns, a.range} <
               std::tuple{b.id, ranges[b.range].start_ns, b.range};
    });
    std::sort(events.ends.begin(), events.ends.end(),
              [](const auto& a, const auto& b) { return std::tie(a.id, a.time_ns) < std::tie(b.id, b.time_ns); });

    std::uint64_t without_start = 0;
    auto end = events.ends.begin();
    for (const start_end_events::start& start : events.starts) {
        while (end != events.ends.end() && end->id < start.id) {
            ++without_start;
            ++end;
        }
        timeline_range& range = ranges[start.range];
        if (end != events.ends.end() && end->id == start.id) {
            // Two threads' times may disagree by the clock's error.
            range.end_ns = std::max(range.start_ns, end->time_ns);
            range.end_thread = end->thread;
            ++end;
        } else {
            range.end_ns = never_ended;
            range.open_at_end = true;
        }
    }
    return without_start + static_cast<std::uint64_t>(events.ends.end() - end);
}

}  // namespace prof
