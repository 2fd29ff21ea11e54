// SPDX-License-Identifier: Apache-2.0
// The second half of load_timeline(): makes a timeline from the contents of a capture. One thread. Linear in the
// records, except for sorts of what is nearly in order (nearly_sorted.hpp).
#pragma once

#include "timeline/contents.hpp"
#include "timeline/timeline.hpp"

namespace prof {

// Throws std::bad_alloc only. Records that do not fit together are counted in the timeline's quality.
timeline build_timeline(capture_contents contents);

}  // namespace prof
