// SPDX-License-Identifier: Apache-2.0
// Puts the windows of a recording on its timeline, and ends open ranges at the end of their window. One thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "timeline/contents.hpp"
#include "timeline/tick_clock.hpp"
#include "timeline/timeline.hpp"

namespace prof {

// Extends the timeline's first and last moment to include `ns`.
void include(timeline& out, std::int64_t ns) noexcept;

// A capture without window entries (from an older libprof, or damaged) becomes one window.
void take_windows(timeline& out, const capture_contents& contents, const tick_clock& clock);

// The window that a moment belongs to: the last one that began by then, else the first. REQUIRES: there is one.
std::size_t window_at(const std::vector<timeline_window>& windows, std::int64_t ns) noexcept;

// Ends each range that never closed with its window.
void end_open_ranges(timeline& out);

}  // namespace prof
