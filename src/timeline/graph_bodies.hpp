// Launches of what ran in the bodies of conditional nodes of CUDA graphs.
//
// CUPTI gives such an operation no correlation id, only the id of the instantiated graph, which all operations of its
// launches have (docs/measurements.md). Launches of one instantiated graph do not overlap on the GPU, so times tell
// which of them it was: the one whose other operations began last before it. What lies between two launches' other
// operations belongs to the earlier, unless the later was called already and the node is known to come before the
// graph's other nodes. Of a graph that has no other operations it is the latest launch that had been called.
#pragma once

#include <vector>

#include "timeline/contents.hpp"
#include "timeline/timeline.hpp"

namespace prof {

// Gives the GPU records of such operations the correlation key of their launch's; those of which none is known stay as
// they are. Linear where there are none; else O(n log n) in the records of their graphs.
void find_launches_of_bodies(capture_contents& contents, const std::vector<timeline_api_call>& calls);

}  // namespace prof
