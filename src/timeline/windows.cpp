// SPDX-License-Identifier: Apache-2.0
#include "timeline/windows.hpp"

#include <algorithm>

#include "timeline/start_end.hpp"

namespace prof {
namespace {

// Removes the windows that ended before the kept part of the capture, except the latest, which shows at least the
// position in the run.
void cut_windows(timeline& out) {
    const auto last = std::find_if(out.windows.begin(), out.windows.end() - 1,
                                   [&](const timeline_window& window) { return window.end_ns > out.start_ns; });
    out.windows.erase(out.windows.begin(), last);
    out.windows.front().start_ns = std::max(out.windows.front().start_ns, out.start_ns);
    out.windows.front().end_ns = std::max(out.windows.front().end_ns, out.windows.front().start_ns);
}

// The first window that begins after `ns`.
auto window_after(const std::vector<timeline_window>& windows, std::int64_t ns) noexcept {
    return std::upper_bound(windows.begin(), windows.end(), ns,
                            [](std::int64_t at, const timeline_window& window) { return at < window.start_ns; });
}

}  // namespace

void include(timeline& out, std::int64_t ns) noexcept {
    out.start_ns = std::min(out.start_ns, ns);
    out.end_ns = std::max(out.end_ns, ns);
}

void take_windows(timeline& out, const capture_contents& contents, const tick_clock& clock) {
    for (const auto& [epoch, window] : contents.windows) {
        const std::int64_t start = clock.to_ns(window.begin_ticks);
        const std::int64_t end = window.end_ticks == 0 ? INT64_MAX : clock.to_ns(window.end_ticks);
        if (!contents.begins) include(out, start);
        if (window.end_ticks != 0) include(out, std::max(end, out.start_ns));
        out.windows.push_back({.start_ns = start,
                               .end_ns = end,
                               .first_step = window.first_step,
                               .last_step = window.last_step,
                               .drawn_first = window.drawn_first,
                               .drawn_among = window.drawn_among,
                               .epoch = epoch,
                               .ends_with_step = window.ends_with_step != 0,
                               .is_open = window.end_ticks == 0});
    }
    if (out.windows.empty()) {
        out.windows.push_back({.start_ns = out.start_ns, .end_ns = INT64_MAX, .is_open = !contents.ended});
    }
    std::stable_sort(out.windows.begin(), out.windows.end(),
                     [](const timeline_window& a, const timeline_window& b) { return a.start_ns < b.start_ns; });
    // If a window's end was not written, it ended at the latest where the next window begins.
    for (std::size_t i = 0; i + 1 < out.windows.size(); ++i) {
        out.windows[i].end_ns = std::min(out.windows[i].end_ns, out.windows[i + 1].start_ns);
    }
    if (contents.begins) cut_windows(out);
}

std::size_t window_at(const std::vector<timeline_window>& windows, std::int64_t ns) noexcept {
    const auto next = window_after(windows, ns);
    return next == windows.begin() ? 0 : static_cast<std::size_t>(next - windows.begin()) - 1;
}

void end_open_ranges(timeline& out) {
    out.windows.back().end_ns = std::min(out.windows.back().end_ns, out.end_ns);
    for (timeline_range& range : out.ranges) {
        if (range.end_ns == never_ended) {
            const auto next = window_after(out.windows, range.start_ns);
            const bool is_graph_context = range.style == range_style::graph_context && next != out.windows.end();
            const std::int64_t latest_ns =
                is_graph_context ? next->start_ns : out.windows[window_at(out.windows, range.start_ns)].end_ns;
            range.end_ns = std::max(range.start_ns, latest_ns);
        }
        if (range.style == range_style::graph_context) range.open_at_end = false;
        if (range.open_at_end) ++out.quality.ranges_open_at_end;
        if (range.open_at_start) ++out.quality.ranges_open_at_start;
    }
}

}  // namespace prof
