// The second half of load_timeline(): makes a timeline from the contents of a capture.
#pragma once

#include "timeline/contents.hpp"
#include "timeline/timeline.hpp"

namespace prof {

// Throws std::bad_alloc only. Records that do not fit together are counted in the timeline's quality.
timeline build_timeline(capture_contents contents);

}  // namespace prof
