// SPDX-License-Identifier: Apache-2.0
#include "timeline/start_end.hpp"

#include <algorithm>
#include <tuple>

#include "timeline/windows.hpp"

namespace prof {

std::uint64_t match_start_end(std::vector<timeline_range>& ranges, start_end_events events,
                              const std::vector<timeline_window>& windows) {
    for (auto& start : events.starts) start.window = window_at(windows, ranges[start.range].start_ns);
    for (auto& end : events.ends) end.window = window_at(windows, end.time_ns);
    std::sort(events.starts.begin(), events.starts.end(), [&](const auto& a, const auto& b) {
        return std::tuple{a.id, a.window, ranges[a.range].start_ns, a.range} <
               std::tuple{b.id, b.window, ranges[b.range].start_ns, b.range};
    });
    std::sort(events.ends.begin(), events.ends.end(), [](const auto& a, const auto& b) {
        return std::tie(a.id, a.window, a.time_ns) < std::tie(b.id, b.window, b.time_ns);
    });

    std::uint64_t without_start = 0;
    auto end = events.ends.begin();
    for (const start_end_events::start& start : events.starts) {
        while (end != events.ends.end() && std::tie(end->id, end->window) < std::tie(start.id, start.window)) {
            ++without_start;
            ++end;
        }
        timeline_range& range = ranges[start.range];
        if (end != events.ends.end() && end->id == start.id && end->window == start.window) {
            // The times of two threads may differ by the clock's error.
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
