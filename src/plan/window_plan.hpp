// When to record: what opens and ends the windows of a recording. A plan is called with what happens in the program,
// and answers what is to be done; it does nothing itself, and reads no clock. The session calls it, one call at a time.
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
    rewarm,   // it ends, and the next is near already
    reopen,   // it ends, and the next begins at once
    finish,   // it ends, and there will be no other: the capture is complete
};

struct drawn_steps {
    std::uint64_t first = 0;
    std::uint64_t count = 0;
};

class window_plan {
public:
    virtual ~window_plan() = default;

    // What to do when the recording starts: open, warm_up or none.
    virtual plan_action begin() = 0;
    // `step` is the number of the step that begins or, for triggers, is under way (docs/schedule.md: steps that
    // prof_step counts begin with 1, and 0 is what comes before; those that a range marks begin with 0).
    // `now_ns` is a steady clock.
    virtual plan_action next(plan_event event, std::uint64_t step, std::uint64_t now_ns) = 0;
    // `action` was carried out, and held the thread that brought the event up for `ns`.
    virtual void took(plan_action action, std::uint64_t ns) = 0;
    // Of a plan that draws its windows at random: the steps among which the latest one was drawn; else none.
    virtual drawn_steps drawn_among() const { return {}; }
};

}  // namespace prof
