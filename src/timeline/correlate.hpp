// SPDX-License-Identifier: Apache-2.0
// Makes the GPU operations of a timeline, and links them with the API calls that launched them: a step of
// build_timeline(). One thread.
#pragma once

#include "timeline/captured_nodes.hpp"
#include "timeline/gpu_work.hpp"
#include "timeline/timeline.hpp"

namespace prof {

// Fills `ops`, `ops_by_launch`, `places`, `kernels`, `transfers` and `graphs`, and links operations and calls.
// REQUIRES: api_calls are in their final order.
//
// Records without usable times become no operation: they are left out and counted in `quality` as cupti_no_timestamp,
// the cause under which the process has counted records that it did not write. If several calls have one correlation
// key (ids wrap after 2^32), an operation belongs to the latest call that began before it. O(n log n); linear if both
// sides are nearly in order, as they usually are. Temporary memory: 4 bytes for each call.
void correlate(timeline& out, gpu_work work);

// Gives each operation that ran as a node of a CUDA graph its captured node, as of the time of its launch.
void link_graph_nodes(timeline& out, const graph_node_events& nodes);

}  // namespace prof
