// GPU operations, and the API calls that caused them.
#pragma once

#include "timeline/graph_nodes.hpp"
#include "timeline/timeline.hpp"

namespace prof {

// Fills ops and ops_by_launch of a timeline whose api_calls stand in their final order and whose kernels, transfers and
// graphs are those of the capture, and links both sides. Records without usable times become no operation: they are
// taken out, and counted in `quality` (cupti_no_timestamp: the process counts there only what it did not write). Of
// several calls with one correlation key (ids wrap after 2^32) an operation belongs to the latest that began before it.
// O(n log n), linear where both sides are nearly in order, as they come.
void correlate(timeline& out);

// Gives each operation that ran as a node of a CUDA graph the node that was captured, as of its launch.
void link_graph_nodes(timeline& out, const graph_node_events& nodes);

}  // namespace prof
