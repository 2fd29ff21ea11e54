// SPDX-License-Identifier: Apache-2.0
// A few stretches of a timeline, as a timeline of their own. Of the whole only these stretches are read: time and
// memory follow from what is in them, and not from how large the whole is. Pure.
#pragma once

#include <span>

#include "analysis/selection/time_spans.hpp"
#include "timeline/timeline.hpp"

namespace prof {

// Each span is a window of the result. It has
// - the calls and operations that begin in a span, and of operations that were launched before it the launches;
// - the ranges that begin in a span or were open at one of these calls, and those around them, uncut;
// - what these refer to, names too.
// Marks are left out, and threads, domains, devices, notes and properties are those of the whole. REQUIRES: the spans
// are in order, and do not overlap.
timeline slices_of(const timeline& whole, std::span<const time_span> spans);

}  // namespace prof
