// SPDX-License-Identifier: Apache-2.0
// Decides when the windows of a recording open and end. The session calls a plan with each event of the program, one
// call at a time, and the plan returns the action to take. The session then tells the plan what came of it: a window
// that was to open may have been passed over. A plan advances on what happened, and not on what it asked for. It has no
// side effects and reads no clock.
#pragma once

#include <cstdint>

namespace prof {

enum class plan_event : std::uint8_t {
    step,           // a step begins (prof_step, or the range that marks steps)
    trigger_begin,  // the capture range opens (a named range, or cudaProfilerStart)
    trigger_end,    // the capture range ends
};

enum class plan_action : std::uint8_t {
    none,
    warm_up,  // attach to CUPTI, since the next window is near
    open,     // a window begins
    close,    // the window ends; if it was passed over, its warm-up does
    rewarm,   // the window ends, and the next one is near already
    reopen,   // the window ends, and the next one begins at once
    finish,   // the window ends and was the last one: the capture is complete
};

struct drawn_steps {
    std::uint64_t first = 0;
    std::uint64_t count = 0;
};

class window_plan {
public:
    virtual ~window_plan() = default;

    // The action at the start of the recording: open, warm_up or none.
    virtual plan_action begin() = 0;
    // `step`: the number of the step that begins or, for triggers, of the present step. Steps counted by prof_step
    // begin with 1, and 0 is what comes before; steps marked by a range begin with 0 (docs/guide/schedule.md).
    // `now_ns`: a steady clock.
    virtual plan_action next(plan_event event, std::uint64_t step, std::uint64_t now_ns) = 0;
    // To be called after each action that begin() or next() returned, but none. `is_open`: a window is open now. `ns`:
    // by so much the thread that raised the event was delayed.
    virtual void took(plan_action action, bool is_open, std::uint64_t ns) = 0;
    // For a plan that draws its windows at random: the steps among which the latest window was drawn; else none.
    virtual drawn_steps drawn_among() const { return {}; }
};

}  // namespace prof
