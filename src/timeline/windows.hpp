// The windows of a recording on its timeline, and what ends with them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "timeline/contents.hpp"
#include "timeline/tick_clock.hpp"
#include "timeline/timeline.hpp"

namespace prof {

// The capture's first and last moment, as known so far.
void include(timeline& out, std::int64_t ns) noexcept;

// A capture without window entries (of an older libprof, or damaged) is one window.
void take_windows(timeline& out, const capture_contents& contents, const tick_clock& clock);

// The window that a moment belongs to: the last that began by then, or the first of all.
// REQUIRES: there is one.
std::size_t window_at(const std::vector<timeline_window>& windows, std::int64_t ns) noexcept;

// A range that never closed ends with its window.
void end_open_ranges(timeline& out);

}  // namespace prof
