// GPU work that was launched before the records of its launches begin.
#pragma once

#include "timeline/contents.hpp"
#include "timeline/timeline.hpp"

namespace prof {

// CUPTI may be attached for a while before a window begins, so that the window does not pay for it; and of a recording
// only the latest part may be kept. Takes out the GPU records of what was launched before that: those whose correlation
// id is no later than the window's warmup_calls, or the latest call of what was dropped, and whose launch was not
// recorded. Returns how many were launched in what was dropped. REQUIRES: data.api_calls is complete. O(n).
std::uint64_t leave_out_launched_before(capture_contents& contents, const timeline& data);

}  // namespace prof
