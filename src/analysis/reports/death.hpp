// SPDX-License-Identifier: Apache-2.0
// How the process of a capture ended. A pure function; the report `death` is declared in reports.hpp.
#pragma once

#include <string>

#include "timeline/timeline.hpp"

namespace prof {

// "killed by signal 9 (KILL)": one line, without a dot.
std::string how_it_ended(const timeline& data);

}  // namespace prof
