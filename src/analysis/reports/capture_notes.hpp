// SPDX-License-Identifier: Apache-2.0
// The lines about a capture itself that every report and trace has: which process it was, and what a reader should know
// before trusting the numbers. One line each, as plain text (names in it not yet escaped). Pure functions.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "analysis/projection/projection.hpp"
#include "timeline/timeline.hpp"

namespace prof {

// "train.py, rank 0, pid 4711 on node7: 12.3 s recorded, 1 GPU (NVIDIA H200)"
std::string capture_title(const timeline& data);

// "recorded 6 of 120 steps, in 2 windows: steps 12 to 14, 22 to 24"; empty where all from start to stop was recorded.
std::string windows_line(const timeline& data);

// How it ended, what was missing, damaged or never completed. Empty when all is well.
std::vector<std::string> capture_notes(const timeline& data);

// "dropped: 12 ring_full, 3 names_full", of counts by cause; empty when nothing was.
std::string drops_line(const std::map<std::string, std::uint64_t>& dropped);

}  // namespace prof
