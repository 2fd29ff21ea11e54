// SPDX-License-Identifier: Apache-2.0
// How the process of a capture ended. Pure functions.
#pragma once

#include <cstdint>
#include <string>

#include "timeline/timeline.hpp"

namespace prof {

inline constexpr std::uint32_t exit_status_base = 256;  // of timeline_quality::how

// "killed by signal 9 (KILL)": one line, without a dot.
std::string how_it_ended(const timeline& data);

// A forked worker that was in no range when it ended: such processes end by _exit, as a rule.
bool ended_as_workers_do(const timeline& data);

}  // namespace prof
