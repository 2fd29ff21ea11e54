// SPDX-License-Identifier: Apache-2.0
// Steps whose work on the GPU was to be recorded, and of which no record is there: a file that was cut, or rings that
// were lost. What the GPU did in them is not known: it was not idle. Pure functions.
#pragma once

#include <cstdint>
#include <vector>

#include "analysis/steps/whole_steps.hpp"
#include "timeline/timeline.hpp"

namespace prof {

// The number of kernels that were launched in the steps and have no GPU record, if none of what was launched there has
// one and nothing runs there; else 0. A few
// of them say nothing. Linear in the calls and operations.
std::uint64_t launches_of_lost_work(const timeline& data, const std::vector<whole_step>& steps);

}  // namespace prof
