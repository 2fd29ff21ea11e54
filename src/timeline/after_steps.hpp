// SPDX-License-Identifier: Apache-2.0
// What follows the last observed step: a step of build_timeline().
#pragma once

#include <string_view>

#include "timeline/timeline.hpp"

namespace prof {

inline constexpr std::string_view after_steps_phase = "after the last step";

// A step is observed to end where the next one begins, so the last one seems to last until the program ends: with the
// checkpoint that is written after the loop, and the end of NCCL. It ends with its last phase, or with a later range of
// a name that earlier steps have, too; the rest becomes a phase of its own beside it, if there is more in it than time.
// REQUIRES: the capture is whole, and the program has ended by itself; ranges are in the order in which they were
// opened. Linear in ranges, nodes, calls.
void end_last_step(timeline& data);

}  // namespace prof
