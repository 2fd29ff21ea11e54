// When to record: what opens and ends the windows of a recording. A plan is told what happens in the program, and
// answers what is to be done; it does nothing itself, and reads no clock.
#pragma once

#include <cstdint>

namespace prof {

enum class plan_event : std::uint8_t {
    step,           // a step begins (prof_step, or the range that marks one)
    trigger_begin,  // the capture range opens (a named range, cudaProfilerStart)
    trigger_end,    // it ends
};

enum class plan_action : std::uint8_t {
    none,
    warm_up,  // take hold of CUPTI: the next window is near
    open,     // a window begins
    close,    // it ends
    reopen,   // it ends, and the next begins at once
    finish,   // it ends, and so does the recording
};

class capture_plan {
public:
    virtual ~capture_plan() = default;

    // What to do when the recording starts: open or none.
    virtual plan_action begin() = 0;
    // `step` is the number of the step (1, 2, …) that begins or, for triggers, is under way (0 before the first).
    // `now_ns` is a steady clock.
    virtual plan_action next(plan_event event, std::uint64_t step, std::uint64_t now_ns) = 0;
    // A window was opened, or closed and settled: what it held the program up for.
    virtual void took(plan_action action, std::uint64_t ns) = 0;
};

}  // namespace prof
