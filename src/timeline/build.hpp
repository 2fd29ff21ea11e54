// From what a capture holds to what it means: the second half of load_timeline().
#pragma once

#include "timeline/contents.hpp"
#include "timeline/timeline.hpp"

namespace prof {

// Never throws but for want of memory: whatever does not fit together is counted in the timeline's quality.
timeline build_timeline(capture_contents contents);

}  // namespace prof
