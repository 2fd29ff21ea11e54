// SPDX-License-Identifier: Apache-2.0
// Steps of a program that neither counts nor names them: the outermost of its ranges that recur. A pure function of a
// timeline; linear in its ranges.
#pragma once

#include "analysis/attribution/attribution.hpp"
#include "analysis/steps/whole_steps.hpp"
#include "timeline/timeline.hpp"

namespace prof {

// Looks at the ranges of one depth after another, from the outermost, on the thread that launches the most of the GPU's
// work; where none launches any, on the one that has the most time in them. The
// ranges that occur equally often, at least three times, and that together cover at least half of the time from the
// first to the last of them, are a step's parts. A step begins with the first of these parts, and lasts until the next
// one begins in the same window. Names that differ in numbers only are one. No steps: `thread` is npos.
whole_steps find_recurring_steps(const timeline& data, const attribution& att);

}  // namespace prof
