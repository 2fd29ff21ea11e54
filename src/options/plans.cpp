// SPDX-License-Identifier: Apache-2.0
#include "options/plans.hpp"

#include "plan/budget_plan.hpp"
#include "plan/schedule_plan.hpp"
#include "plan/trigger_plan.hpp"

namespace prof {
namespace {

bool has_capture_range(const session_options& options) { return options.capture_range != window_trigger::none; }

// Whether the end of a capture range is an event of the program.
bool has_range_end(const session_options& options) {
    return options.capture_range == window_trigger::nvtx_range ||
           options.capture_range == window_trigger::profiler_calls;
}

}  // namespace

outcome plan_problem(const session_options& options) {
    if (has_capture_range(options) && !options.schedule.empty()) {
        return outcome::failed("schedule and capture_range both say when to record: set one of them");
    }
    if (!options.budget.empty() && (has_capture_range(options) || !options.schedule.empty())) {
        return outcome::failed("budget decides when to record, and so do schedule and capture_range: set one of them");
    }
    if (options.capture_range_end != session_options{}.capture_range_end && !has_range_end(options)) {
        return outcome::failed(
            "capture_range_end says what the end of a capture range means: set capture_range to cudaProfilerApi or "
            "nvtx, too");
    }
    if (!options.keep.empty() && !options.budget.empty()) {
        return outcome::failed(
            "keep discards the beginning of the run, and budget is a share of the whole run: set one of them");
    }
    if (options.dump_on_slow_step && options.keep.empty()) {
        return outcome::failed("dump_on_slow_step writes out what keep has kept: set keep, too");
    }
    if ((options.capture_range == window_trigger::nvtx_range) != !options.nvtx_capture.empty()) {
        return outcome::failed("capture_range=nvtx and nvtx_capture=NAME go together: set both or neither");
    }
    if ((options.capture_range == window_trigger::steps) != !options.steps.empty()) {
        return outcome::failed("capture_range=steps and steps=N-M go together: set both or neither");
    }
    return {};
}

std::unique_ptr<window_plan> make_plan(const session_options& options) {
    if (!options.budget.empty()) return std::make_unique<budget_plan>(options.budget.value);
    const bool step_0_is_under_way = options.step_range.empty();
    for (const as_written<step_schedule>* const steps : {&options.schedule, &options.steps}) {
        if (!steps->empty()) return std::make_unique<schedule_plan>(steps->value, step_0_is_under_way);
    }
    if (has_capture_range(options)) return std::make_unique<trigger_plan>(options.capture_range_end.value);
    return nullptr;
}

std::string plan_text(const session_options& options) {
    if (!options.budget.empty()) return "budget " + options.budget.text;
    if (!options.schedule.empty()) return "schedule " + options.schedule.text;
    if (!options.steps.empty()) return "steps " + options.steps.text;
    if (!has_capture_range(options)) return {};
    std::string range = text_of(options, "capture_range");
    if (options.capture_range == window_trigger::nvtx_range) range += " " + options.nvtx_capture.text();
    return "capture range " + range + ", " + options.capture_range_end.text;
}

std::string awaited_text(const session_options& options, std::uint64_t steps) {
    const std::string plan = plan_text(options);
    if (plan.empty()) return {};
    const std::string waits = "no window yet: " + plan + " waits for ";
    if (options.capture_range == window_trigger::nvtx_range) {
        return waits + "a push of the range " + options.nvtx_capture.text();
    }
    if (options.capture_range == window_trigger::profiler_calls) return waits + "cudaProfilerStart";
    if (steps == 0) {
        return waits + "a step, and none has begun: " +
               (options.step_range.empty() ? "call prof_step in each step, or name a range of each step by step_range"
                                           : "each push of the range " + options.step_range.text() + " begins one");
    }
    const std::string begun = std::to_string(steps) + (steps == 1 ? " step has begun" : " steps have begun");
    if (!options.budget.empty()) return waits + "more steps, to know what a window would cost: " + begun;
    const step_schedule& schedule = options.schedule.empty() ? options.steps.value : options.schedule.value;
    const std::uint64_t first =
        schedule.skip_first + (schedule.skip_first_wait != 0 ? 0 : schedule.wait) + schedule.warmup;
    return waits + "step " + std::to_string(first) + ": " + begun;
}

std::string no_window_text(const session_options& options) {
    if (!options.autostart) return "autostart is 0, and the command called no prof_start or recorded nothing after it";
    const std::string plan = plan_text(options);
    if (plan.empty()) return {};
    std::string notice = "the command's capture range never began";
    if (!options.budget.empty() || !options.schedule.empty() || !options.steps.empty()) {
        notice = "the command had no such step; " +
                 (options.step_range.empty() ? "prof_step counts them, or a range that step_range names"
                                             : "each push of the range " + options.step_range.text() +
                                                   " begins one (numbered names are one range with #: iteration #)");
    }
    return "no window was opened by " + plan + ": " + notice;
}

}  // namespace prof
