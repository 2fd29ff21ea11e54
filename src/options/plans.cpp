#include "options/plans.hpp"

#include "plan/budget_plan.hpp"
#include "plan/schedule_plan.hpp"
#include "plan/trigger_plan.hpp"

namespace prof {
namespace {

bool has_capture_range(const session_options& options) { return options.capture_range != "none"; }

}  // namespace

std::string plan_problem(const session_options& options) {
    if (has_capture_range(options) && !options.schedule.empty()) {
        return "schedule and capture_range both say when to record: set one of them";
    }
    if (!options.budget.empty() && (has_capture_range(options) || !options.schedule.empty())) {
        return "budget decides when to record, and so do schedule and capture_range: set one of them";
    }
    if (options.capture_range_end != session_options{}.capture_range_end && options.capture_range != "nvtx" &&
        options.capture_range != "cudaProfilerApi") {
        return "capture_range_end says what the end of a capture range means: set capture_range to cudaProfilerApi or "
               "nvtx, too";
    }
    if (!options.keep.empty() && !options.budget.empty()) {
        return "keep lets go of the beginning of the run, and budget speaks of the whole of it: set one of them";
    }
    if (!options.dump_on_slow_step.empty() && options.keep.empty()) {
        return "dump_on_slow_step writes out what keep has kept: set keep, too";
    }
    if ((options.capture_range == "nvtx") != !options.nvtx_capture.empty()) {
        return "capture_range=nvtx and nvtx_capture=NAME go together: set both or neither";
    }
    if ((options.capture_range == "steps") != !options.steps.empty()) {
        return "capture_range=steps and steps=N-M go together: set both or neither";
    }
    return {};
}

std::unique_ptr<window_plan> make_plan(const session_options& options) {
    if (double share = 0; parse_budget(options.budget, share)) return std::make_unique<budget_plan>(share);
    const bool step_0_is_under_way = options.step_range.empty();
    step_schedule schedule;
    if (parse_schedule(options.schedule, schedule) || parse_steps(options.steps, schedule)) {
        return std::make_unique<schedule_plan>(schedule, step_0_is_under_way);
    }
    range_end end;
    if (has_capture_range(options) && parse_range_end(options.capture_range_end, end)) {
        return std::make_unique<trigger_plan>(end);
    }
    return nullptr;
}

std::string plan_text(const session_options& options) {
    if (!options.budget.empty()) return "budget " + options.budget;
    if (!options.schedule.empty()) return "schedule " + options.schedule;
    if (!options.steps.empty()) return "steps " + options.steps;
    if (!has_capture_range(options)) return {};
    const std::string range = options.capture_range == "nvtx" ? "nvtx " + options.nvtx_capture : options.capture_range;
    return "capture range " + range + ", " + options.capture_range_end;
}

std::string no_window_text(const session_options& options) {
    if (!options.autostart) return "autostart is 0, and the command called no prof_start or recorded nothing after it";
    const std::string plan = plan_text(options);
    if (plan.empty()) return {};
    std::string what = "the command's capture range never began";
    if (!options.budget.empty() || !options.schedule.empty() || !options.steps.empty()) {
        what = "the command had no such step; " +
               (options.step_range.empty() ? "prof_step counts them, or a range that step_range names"
                                           : "each push of the range " + options.step_range + " begins one");
    }
    return "no window was opened by " + plan + ": " + what;
}

}  // namespace prof
