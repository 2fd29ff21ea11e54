// SPDX-License-Identifier: Apache-2.0
// Finds the launches of operations that ran in the bodies of conditional nodes of CUDA graphs.
//
// CUPTI gives such an operation no correlation id, only the id of the executable graph, as it does for all operations
// of the graph's launches (docs/lab/cupti-graphs.md). Launches of one executable graph do not overlap on the GPU, so
// times identify the launch: it is the one whose other operations began last before the operation.
//
// An operation between the other operations of two launches belongs to the earlier launch, with one exception. It
// belongs to the later one if that was called already and the node is known to come before the graph's other nodes. If
// the graph has no other operations, the operation belongs to the latest launch called before it.
#pragma once

#include <vector>

#include "timeline/captured_nodes.hpp"
#include "timeline/gpu_work.hpp"
#include "timeline/timeline.hpp"

namespace prof {

// Gives such operations the correlation key of their launch. Those without a known launch stay as they are. Linear if
// there are no such operations, else O(n log n) in the operations of their graphs.
void find_launches_of_bodies(gpu_work& work, const std::vector<timeline_api_call>& calls,
                             const std::vector<graph_launch_call>& graph_calls);

}  // namespace prof
