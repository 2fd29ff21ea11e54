// The steps that a capture has from their beginning to their end, and the windows they were captured in. Steps are
// known apart by the marks that prof_step or the range that counts them leaves. A pure function of a timeline.
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

// Whether a mark is the beginning of a step, with its number for a payload.
bool begins_step(const timeline& data, const timeline_mark& mark);

// By start_ns. What is launched from start_ns on, before end_ns, belongs to the step, whatever its thread.
std::vector<captured_step> find_captured_steps(const timeline& data);

// Steps of the whole run, whether captured or not (the last one perhaps cut by its end); 0 if none were counted. Of a
// process that died without closing its capture: those of which the capture knows; there may have been more.
std::uint64_t steps_of_run(const timeline& data);
bool knows_all_steps(const timeline& data);

// Whether some of its steps were captured, and more than one or two at its ends were not.
bool has_part_of_steps(const timeline& data);

}  // namespace prof
