// SPDX-License-Identifier: Apache-2.0
// The windows of a recording, and the plan that opens and ends them by steps and ranges (window_plan.hpp). Each window
// is opened and ended here, with the gate, the capture and CUPTI in the right order.
//
// No lock of its own: window_control has one object of this class and holds its lock for each call. No function waits
// for the GPU or for a file, except open_next(): a plan may open one window right after another.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>

#include "base/outcome.hpp"
#include "collect/drain_thread.hpp"
#include "hooks/nvtx/watched_ranges.hpp"
#include "plan/window_plan.hpp"
#include "session/parts/session_parts.hpp"
#include "session/process/heritage.hpp"
#include "session/process/step_counter.hpp"

namespace prof {

enum class window_state : std::uint8_t { shut, warming_up, open };

class recording_windows {
public:
    // `steps` and `is_recording`: window_control's. `on_range`: called for watched ranges.
    recording_windows(const session_parts& parts, step_counter& steps, const std::atomic<bool>& is_recording,
                      range_observer on_range) noexcept
        : parts_(parts), steps_(steps), is_recording_(is_recording), on_range_(on_range) {}

    window_state state() const noexcept { return state_; }
    bool is_open() const noexcept { return state_ == window_state::open; }
    // Of the latest window of any recording; 0: there was none.
    std::uint32_t epoch() const noexcept { return epoch_; }
    // Opened in this recording, or in the latest.
    std::uint64_t opened() const noexcept { return opened_; }
    // When the state of the recording changed, by CLOCK_MONOTONIC.
    std::uint64_t changed_ns() const noexcept { return changed_ns_; }
    void note_change() noexcept;

    // A recording begins: makes its plan, and opens the first window if there is none. `compares_steps`: slow steps are
    // dumped. CUPTI's one user (gpu_session.hpp).
    void begin_plan(bool compares_steps);
    // The recording ends. The window that is open stays open.
    void leave_plan();
    bool has_plan() const noexcept { return plan_ != nullptr; }
    bool observes_profiler() const noexcept { return observes_profiler_; }
    // What the plan asks for after this event is done. Does nothing without a plan.
    void apply(plan_event event);
    // Why the program may not open or end windows now. `otherwise`: the reason if there is a recording without a plan.
    outcome refusal(const char* otherwise) const;

    // REQUIRES: the settling thread has nothing to do.
    void open();
    // Ends the window that is open. `ends_with_step`: step `last_step` is over.
    void close(std::uint64_t last_step, bool ends_with_step);
    // The same, and posts what is left to be done. `completes_capture`: it is the last window of its capture, which is
    // completed and exported.
    void end(std::uint64_t last_step, bool ends_with_step, bool completes_capture);
    // The recording ends: no window follows.
    void shut() noexcept { state_ = window_state::shut; }
    // Records GPU work of the window that is open or warming up. CUPTI's one user.
    void attach_gpu(bool cuda_is_new) { parts_.gpu.attach(epoch_, cuda_is_new); }

    // Publishes what children that are forked from now on go on with. To be called after each change of it.
    void leave_to_children();

private:
    // Does what the plan asks for, and reports to it what came of that.
    void take(plan_action action, std::uint64_t last_step, bool ends_with_step);
    void perform(plan_action action, std::uint64_t last_step, bool ends_with_step);
    void open_next();
    void begin_warm_up();
    void leave_warm_up();
    void complete_capture(drain_thread& drain, recording_settings::snapshot options, std::uint64_t steps) const;

    const session_parts parts_;
    step_counter& steps_;
    const std::atomic<bool>& is_recording_;
    const range_observer on_range_;

    std::uint32_t epoch_ = 0;
    std::uint64_t opened_ = 0;
    window_state state_ = window_state::shut;
    std::uint64_t changed_ns_ = 0;
    std::unique_ptr<window_plan> plan_;  // null: one window, from the beginning of the recording to its end
    bool plan_is_over_ = false;          // it opens no window any more
    bool observes_profiler_ = false;     // for cudaProfilerStart and cudaProfilerStop
    heritage_publisher to_children_;
};

}  // namespace prof
