// SPDX-License-Identifier: Apache-2.0
// Counts steps after the fact: each push of a range begins one, as with the option step_range of a recording.
#pragma once

#include <string_view>

#include "timeline/timeline.hpp"

namespace prof {

// Replaces the steps that the timeline counts by those that the ranges `name` begin: NAME or NAME@DOMAIN, where NAME is
// a range's name, with # for each number, or a shell pattern of it. One inside another of them on its thread begins
// none. They are numbered from 0. Linear in the ranges and marks. Throws nothing_selected if there is no such range.
void count_steps_by(timeline& data, std::string_view name);

}  // namespace prof
