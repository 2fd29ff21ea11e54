// SPDX-License-Identifier: Apache-2.0
// CUDA's own memory as calls of CUDA had it and gave it back: a step of build_timeline(). One thread; linear, but for a
// sort; temporary memory: some 60 bytes for each piece that is there at once.
#pragma once

#include "timeline/timeline.hpp"

namespace prof {

// Sorts timeline::cuda_memory by time, and finds of what came back when it was had, how large it is and of which kind;
// what was had before the recording, and therefore is not known, is left out. If no allocator has reported,
// timeline::memory becomes what the program had of each GPU: device memory, pools, managed and physical memory.
void settle_cuda_memory(timeline& out);

}  // namespace prof
