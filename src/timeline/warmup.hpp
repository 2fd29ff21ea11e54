// SPDX-License-Identifier: Apache-2.0
// Removes GPU work that was launched before the recording of launches began.
#pragma once

#include "timeline/contents.hpp"
#include "timeline/timeline.hpp"

namespace prof {

// Such work has GPU records for two reasons. CUPTI may be attached for a while before a window begins (warm-up), so
// that the window does not pay for that; if the window was passed over, there is only its warm-up. And a capture may
// have only the latest part of its recording.
//
// Removes the operations whose launch was not recorded and whose correlation id is not later than the window's
// warmup_calls, or than the latest call of the trimmed part; or whose epoch has no window. Returns how many were
// launched in the trimmed part. REQUIRES: data.api_calls is complete. O(n).
std::uint64_t leave_out_launched_before(capture_contents& contents, const timeline& data);

}  // namespace prof
