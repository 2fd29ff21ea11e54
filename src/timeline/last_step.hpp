// SPDX-License-Identifier: Apache-2.0
// Where the last observed step ends: a step of build_timeline().
#pragma once

#include "timeline/timeline.hpp"

namespace prof {

// A step is observed to end where the next one begins, so the last one seems to last until the program ends: with the
// checkpoint that is written after the loop, and the end of NCCL. It ends with its last phase, and with what begins no
// later after that than is usual for the earlier steps: a range, or a CUDA call of its thread. What follows is no part
// of it. Steps that the program annotates have their own ends. REQUIRES: the capture is whole, and the program has
// ended by itself; ranges are sorted. Linear in ranges, nodes and calls.
void end_last_step(timeline& data);

}  // namespace prof
