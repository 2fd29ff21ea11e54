// SPDX-License-Identifier: Apache-2.0
// Steps whose work on the GPU was to be recorded, and of which no record is there: a file that was cut, or rings that
// were lost. What the GPU did in them is not known: it was not idle. Pure functions.
#pragma once

#include <cstdint>
#include <vector>

#include "analysis/steps/whole_steps.hpp"
#include "timeline/timeline.hpp"

namespace prof {

// How many launches in the steps have no GPU record, if none has one and nothing runs on the GPU meanwhile; else 0, as
// for a few, which say nothing. Linear in the calls and operations.
std::uint64_t launches_of_lost_work(const timeline& data, const std::vector<whole_step>& steps);

}  // namespace prof
