// SPDX-License-Identifier: Apache-2.0
// The lines about a capture itself that every report and trace has: which process it was, and what a reader should know
// before trusting the numbers. One line each, as plain text (names in it not yet escaped). Pure functions.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <string>
#include <vector>

#include "analysis/projection/projection.hpp"
#include "analysis/quality/capture_note.hpp"
#include "timeline/timeline.hpp"

namespace prof {

// "train.py, rank 0, pid 4711 on node7: 12.3 s recorded, 1 GPU (NVIDIA H200)"
std::string capture_title(const timeline& data);

// In all its windows.
std::int64_t recorded_ns(const timeline& data);

// "recorded 6 of 120 steps, in 2 windows: steps 12 to 14, 22 to 24"; empty where all from start to stop was recorded.
std::string windows_line(const timeline& data);

// Whether so many operations begin before their launch that times between host and GPU cannot be trusted.
// Linear in the operations, as capture_notes().
bool is_clock_off(const timeline& data);

// What was lost, missing, damaged or never completed, and how it ended: by weight. Empty when all is well.
std::vector<capture_note> capture_notes(const timeline& data);
inline constexpr std::initializer_list<note_weight> every_weight = {note_weight::warning, note_weight::heading,
                                                                    note_weight::detail};
// The texts of these weights.
std::vector<std::string> texts_of(const std::vector<capture_note>& notes, std::initializer_list<note_weight> weights);

}  // namespace prof
