// SPDX-License-Identifier: Apache-2.0
// Where steps lie in time. The host may run ahead of the GPU, so that the times at which it begins them cut the GPU's
// work at random places. A step begins when the host has begun it and the GPU is done with what was launched before; it
// ends likewise. Where the host is the limit these are the host's times.
//
// "Done" is said of the streams in which the steps compute: a copy or a kernel beside them, for which nobody waits,
// does not make a step longer.
#pragma once

#include <vector>

#include "analysis/steps/whole_steps.hpp"
#include "timeline/timeline.hpp"

namespace prof {

// Sets the delays of the steps. Returns the streams in which they compute, by place of the timeline; empty if there are
// no steps or no operations. Linear in the operations. REQUIRES: the steps are by start_ns, without overlap.
row_values<place_id, bool> delay_steps(const timeline& data, std::vector<whole_step>& steps);

}  // namespace prof
