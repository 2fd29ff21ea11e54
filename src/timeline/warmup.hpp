// Work from before a window, in its records.
#pragma once

#include "timeline/contents.hpp"
#include "timeline/timeline.hpp"

namespace prof {

// CUPTI may be attached for a while before a window begins, so that the window does not pay for it. Takes out the GPU
// records of what was launched in that time: those whose correlation id is no later than the window's warmup_calls and
// whose launch was not recorded. REQUIRES: data.api_calls is complete. O(n).
void leave_out_warmup(capture_contents& contents, const timeline& data);

}  // namespace prof
