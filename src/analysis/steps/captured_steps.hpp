// SPDX-License-Identifier: Apache-2.0
// The steps that are completely in a capture, and the windows in which they were captured. Steps are recognised by the
// marks of prof_step or of the range that counts them. Pure functions of a timeline.
#pragma once

#include <cstdint>
#include <vector>

#include "timeline/timeline.hpp"

namespace prof {

struct captured_step {
    std::int64_t start_ns = 0;
    std::int64_t end_ns = 0;
    std::uint64_t number = 0;
    std::uint32_t window = 0;  // index into timeline::windows
};

// Whether the mark is the beginning of a step; its payload is then the step's number.
bool begins_step(const timeline& data, const timeline_mark& mark);

// Ordered by start_ns. Work launched on any thread in [start_ns, end_ns) belongs to the step.
std::vector<captured_step> find_captured_steps(const timeline& data);

// The number of steps of the whole run, captured or not (the last one may be cut by the run's end); 0 if steps were not
// counted. If the process died without closing its capture, only the steps known to the capture: step_count_is_known()
// is then false.
std::uint64_t steps_of_run(const timeline& data);
bool step_count_is_known(const timeline& data);

// Whether only a part of the steps was captured: more are missing than one or two at the ends.
bool has_part_of_steps(const timeline& data);

}  // namespace prof
