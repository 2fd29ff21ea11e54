// SPDX-License-Identifier: Apache-2.0
#include "session/window_control.hpp"

#include <algorithm>
#include <exception>
#include <new>
#include <string_view>
#include <utility>
#include <vector>

#include "base/clock.hpp"
#include "hooks/allocator/torch_allocator.hpp"
#include "hooks/nccl/profiler_plugin.hpp"
#include "hooks/nvtx/nvtx_hooks.hpp"
#include "hooks/python/python_calls.hpp"
#include "hooks/python/python_steps.hpp"
#include "options/plans.hpp"
#include "record/label.hpp"
#include "ring/gate.hpp"
#include "ring/registry.hpp"
#include "session/process/child_family.hpp"
#include "session/process/events.hpp"
#include "session/process/out_of_memory.hpp"
#include "session/process/patience.hpp"
#include "session/process/warn_once.hpp"

namespace prof {
namespace {

constexpr std::chrono::milliseconds longest_wait_in_callback{100};
// A plan without a window is worth a line after so long, and one that steps do not bring nearer after so many.
constexpr std::chrono::seconds long_wait_for_window{60};
constexpr std::uint64_t many_steps_without_window = 1000;

// The steps that libprof observes in a PyTorch program, and those that a program marks as a phase "step" (JAX's
// annotations, PROF_PHASE), are those of a recording that begins by itself, where the program's user has chosen no
// others.
bool counts_observed_steps(const session_options& options, requester caller) {
    const bool needs_steps = !options.budget.empty() || !options.schedule.empty() || !options.steps.empty() ||
                             options.dump_on_slow_step.has_value();
    return needs_steps && caller == requester::itself && options.step_range.empty() && options.phases;
}

}  // namespace

window_control::window_control(const session_parts& parts, dump_writer& dumps, const heritage* inherited,
                               range_observer on_range)
    : parts_(parts),
      dumps_(dumps),
      inherited_(inherited),
      is_recording_(inherited != nullptr && inherited->records),
      windows_(parts, steps_, is_recording_, on_range) {}

void window_control::make_rings(const session_options& options) {
    if (parts_.rings.are_made()) return;
    parts_.rings.make(options, parts_.gpu.may_use_gpu(), parts_.gpu.sizes());
    windows_.note_change();
    if (!parts_.rings.inherits()) parts_.exit.register_handler();  // else the parent's is there
}

void window_control::prepare() {
    const session_lock lock(mutex_);
    const recording_settings::snapshot environment = parts_.settings.environment();
    parts_.settings.read_environment();
    make_rings(*environment);
    windows_.leave_to_children();
    split_torch_texts(environment->pytorch != pytorch_detail::off);
    nccl::follow_windows(environment->nccl);
    follow_allocator(*environment);
    if (is_recording()) return;  // start() came first, and waits for its first record
    parts_.rings.install_unobserved();
    if (!environment->autostart) parts_.idle.begin();
}

outcome window_control::begin(const session_options& given, requester caller) {
    session_options options = given;
    const bool counts_observed = counts_observed_steps(given, caller);
    if (counts_observed) options.step_range = range_name("step", std::string(phase_domain));
    if (caller != requester::command) parts_.settings.read_environment();
    if (parts_.exit.has_begun()) return outcome::failed("the process is about to end");
    if (is_recording()) return outcome::wrong_state("a recording is running already");
    try {
        make_rings(options);
    } catch (const std::exception& failure) {
        return outcome::failed(failure.what());
    }
    if (outcome plan = plan_problem(options); !plan.ok()) return plan;
    if (!observes_idle_graphs(options)) {
        parts_.idle.stop();
        parts_.rings.forget_history();
        parts_.gpu.stop_observing();
    }
    parts_.settings.begin(options);
    is_completing_ = false;
    is_awaited_told_ = false;
    split_torch_texts(options.pytorch != pytorch_detail::off);
    nccl::follow_windows(options.nccl);
    follow_allocator(options);
    parts_.settling.forget_skipped_windows();
    parts_.exports.forget_failure();
    parts_.capture.reset();
    steps_.begin(!options.step_range.empty(), counts_observed);
    parts_.rings.install();
    is_recording_ = true;
    windows_.note_change();
    post_event(PROF_EVENT_RECORDING_BEGAN, 0);
    windows_.begin_plan(dumps_.begin());
    windows_.leave_to_children();
    return {};
}

bool window_control::end(bool exits) {
    if (is_recording() || exits) windows_.leave_plan();
    if (windows_.is_open()) windows_.close(steps_.current(), false);
    windows_.shut();
    const bool was_recording = is_recording_.exchange(false);
    if (!exits) leave_torch_allocator();
    if (was_recording || exits) is_completing_ = true;  // else that of the recording before may not be over
    if (was_recording) windows_.note_change();
    // Not at exit: then it may be the allocator that the program stands still in.
    if (!exits) windows_.leave_to_children();
    return was_recording;
}

void window_control::note_completed() {
    if (std::exchange(is_completing_, false)) windows_.note_change();
}

bool window_control::begin_in_child() {
    const session_lock lock(mutex_);
    parts_.settings.read_environment();
    make_rings(*parts_.settings.options());
    if (!is_recording()) {
        parts_.rings.install_unobserved();
        return true;
    }
    if (!child_family::may_begin_capture()) {
        parts_.rings.install_unobserved();
        return false;
    }
    parts_.settings.begin_in_child(inherited_->directory);
    parts_.rings.install();
    if (!inherited_->is_paused) windows_.open();
    windows_.leave_to_children();
    return true;
}

void window_control::refuse_in_child() noexcept {
    is_recording_ = false;
    set_gate(recording_epoch, 0);
    parents_region()->count_drop(drop_cause::forked_child);
}

// In a forked child the loader's tables are not asked, as in gpu_session::has_cuda(): what the parent replaced there is
// the child's, too.
void window_control::follow_allocator(const session_options& options) noexcept {
    if (!parts_.rings.inherits()) follow_torch_allocator(options.allocations && !parts_.exit.has_begun());
}

void window_control::note_torch() {
    if (!mutex_.try_lock_for(longest_wait_for_preparation)) return;
    const session_lock lock(mutex_, std::adopt_lock);
    follow_allocator();
}

void window_control::follow_allocator() {
    follow_allocator(is_recording() ? *parts_.settings.options() : *parts_.settings.environment());
}

void window_control::on_cuda(bool is_new) {
    constexpr const char* held_up =
        "CUDA began while libprof was held up: GPU work is recorded from the next window on";
    // As in preparation::run(): the thread that holds the lock may wait for a lock that this one holds.
    if (!mutex_.try_lock_for(longest_wait_for_preparation)) return warn_once(held_up);
    const session_lock lock(mutex_, std::adopt_lock);
    try {
        parts_.settings.read_environment();  // the rank may have been set since
    } catch (const std::bad_alloc&) {
        // Then it is what it was before.
    }
    follow_allocator();
    if (windows_.is_open()) return windows_.attach_gpu(is_new);
    const bool is_warming_up = windows_.state() == window_state::warming_up && is_new;
    if (!is_warming_up && is_completing_) return;  // the thread that completes the recording observes afterwards
    // For what the last window has left to be done.
    const bool waits =
        is_warming_up || windows_.observes_profiler() || observes_idle_graphs(*parts_.settings.options());
    if (waits && !parts_.settling.wait_until_idle(longest_wait_for_preparation)) return warn_once(held_up);
    if (is_warming_up) return windows_.attach_gpu(is_new);
    if (windows_.observes_profiler()) parts_.gpu.observe_profiler_calls();
    parts_.idle.observe_graphs();
}

bool window_control::may_rest() noexcept {
    if (!mutex_.try_lock()) return false;
    const session_lock lock(mutex_, std::adopt_lock);
    return !windows_.has_plan() && windows_.state() != window_state::warming_up && !is_completing_ &&
           !steps_.by_ranges() && !parts_.gpu.has_tracer() && !observes_idle_graphs(*parts_.settings.options());
}

outcome window_control::pause() {
    const session_lock lock(mutex_);
    if (windows_.has_plan() || !windows_.is_open()) return windows_.refusal("the recording is paused already");
    windows_.end(steps_.current(), false, parts_.settings.options()->export_each == capture_unit::window);
    windows_.leave_to_children();
    return {};
}

outcome window_control::resume() {
    if (!lock_settled(longest_wait_for_disk)) {
        return outcome::failed("the capture's disk does not answer: the window before is not taken in yet");
    }
    const session_lock lock(mutex_, std::adopt_lock);
    if (windows_.has_plan() || !is_recording() || windows_.is_open())
        return windows_.refusal("the recording is not paused");
    windows_.open();
    windows_.leave_to_children();
    return {};
}

fixed_settings window_control::what_is_fixed() const noexcept {
    return {.rings = parts_.rings.are_made(), .cupti = parts_.gpu.has_tracer()};
}

outcome window_control::set(std::span<const std::string> settings) {
    const session_lock lock(mutex_);
    outcome changed = parts_.settings.set(settings, what_is_fixed(), is_recording());
    if (changed.ok()) windows_.leave_to_children();
    return changed;
}

void window_control::count_step() {
    switch (steps_.use()) {
        case step_use::opens_windows: {
            const session_lock lock(mutex_);
            return count_observed_step();
        }
        case step_use::compared:
            if (!mutex_.try_lock()) break;
            {
                const session_lock lock(mutex_, std::adopt_lock);
                return count_observed_step();
            }
        case step_use::counted:
            break;
    }
    if (is_recording()) mark_step(steps_.count());
}

void window_control::count_observed_step() {
    if (!is_recording()) return;
    const std::uint64_t begun = steps_.count();
    if (windows_.is_open()) {
        dumps_.note_step(steps_.current() - 1);
    } else {
        dumps_.skip_step();
    }
    windows_.apply(plan_event::step);
    mark_step(begun);
}

void window_control::mark_step(std::uint64_t begun) const noexcept {
    const std::uint64_t number = steps_.number_of(begun);
    record_mark("step", number);
    if (wants_event(PROF_EVENT_STEP)) post_event(PROF_EVENT_STEP, number);
}

bool window_control::on_watched_range(range_use use, bool begins) {
    if (use == range_use::step) {
        count_step();
        return false;
    }
    const session_lock lock(mutex_);
    if (!is_recording()) return false;
    const bool was_open = windows_.is_open();
    windows_.apply(begins ? plan_event::trigger_begin : plan_event::trigger_end);
    return !was_open && windows_.is_open();
}

void window_control::on_profiler_call(bool starts) {
    const auto pass_over = [starts] {
        warn_once(std::string(starts ? "cudaProfilerStart" : "cudaProfilerStop") +
                  " is ignored: the window before was still being read");
    };
    if (!mutex_.try_lock_for(longest_wait_in_callback)) return pass_over();
    const session_lock lock(mutex_, std::adopt_lock);
    if (!windows_.observes_profiler()) return;  // the plan is over
    // A window that opens has to wait for the one before; one that ends has not.
    if (starts && !parts_.settling.wait_until_idle(longest_wait_in_callback)) return pass_over();
    if (!starts && !windows_.is_open() && windows_.epoch() != 0) {
        warn_once(
            "cudaProfilerStop without a cudaProfilerStart: a start within milliseconds of a window's end, while CUPTI "
            "is "
            "being detached, has no effect");
    }
    windows_.apply(starts ? plan_event::trigger_begin : plan_event::trigger_end);
}

bool window_control::lock_settled(std::chrono::nanoseconds patience) {
    for (;;) {
        if (!parts_.settling.await(patience)) return false;
        mutex_.lock();
        if (parts_.settling.is_idle()) return true;
        mutex_.unlock();
    }
}

outcome window_control::keep_text(const std::string& key, const std::string& text) {
    (void)parts_.capture.drain_of_records();  // not with the lock, as it may read a file
    if (!mutex_.try_lock_for(longest_standstill)) return outcome::failed("a window that opens or ends takes too long");
    const session_lock lock(mutex_, std::adopt_lock);
    const std::shared_ptr<drain_thread> drain = parts_.capture.drain_if_made();
    return drain == nullptr ? outcome::wrong_state("nothing is recorded") : drain->keep_text(key, text);
}

result<window_control::recorded> window_control::find_recorded() {
    (void)parts_.capture.drain_of_records();  // as above
    const session_lock lock(mutex_);
    if (!is_recording()) return outcome::wrong_state("no recording is running");
    std::shared_ptr<drain_thread> drain = parts_.capture.drain_if_made();
    if (drain == nullptr) return outcome::wrong_state("nothing was recorded yet");
    return recorded{std::move(drain), parts_.settings.options()};
}

recording_state window_control::state() const {
    if (is_completing_) return recording_state::completing;
    if (!is_recording()) return recording_state::idle;
    if (windows_.is_open()) return recording_state::recording;
    if (windows_.state() == window_state::warming_up) return recording_state::warming_up;
    return windows_.has_plan() ? recording_state::between_windows : recording_state::paused;
}

void window_control::report_awaited_window() noexcept {
    if (!is_recording() || !mutex_.try_lock()) return;
    const session_lock lock(mutex_, std::adopt_lock);
    if (is_awaited_told_ || !windows_.has_plan()) return;
    if (windows_.opened() != 0) {
        is_awaited_told_ = true;
        return;
    }
    const auto waited = std::chrono::nanoseconds(clock_ns(CLOCK_MONOTONIC) - windows_.changed_ns());
    const std::uint64_t steps = steps_.begun();
    const recording_settings::snapshot options = parts_.settings.options();
    // Steps bring a schedule nearer to its window.
    const bool is_under_way = steps != 0 && (options->budget.empty() || steps < many_steps_without_window);
    if (waited < long_wait_for_window || is_under_way) return;
    is_awaited_told_ = true;
    do_as_far_as_memory_goes([&] { warn_once(awaited_text(*options, steps)); });
}

bool window_control::describe(session_status& out, std::chrono::milliseconds patience) {
    const bool uses_cuda = parts_.gpu.has_cuda();
    if (!mutex_.try_lock_for(patience)) return false;
    const session_lock lock(mutex_, std::adopt_lock);
    out.state = state();
    if (windows_.changed_ns() != 0) out.state_ns = clock_ns(CLOCK_MONOTONIC) - windows_.changed_ns();
    out.steps = steps_.begun();
    out.windows = windows_.opened();
    out.plan = is_recording() ? plan_text(*parts_.settings.options()) : "";
    if (is_recording() && windows_.has_plan() && windows_.opened() == 0) {
        out.awaited = awaited_text(*parts_.settings.options(), steps_.begun());
    }
    if (const observed_steps seen = python_steps::observed(); out.steps == 0 || out.steps == seen.begun) {
        out.steps = seen.begun;
        out.step_ns = seen.begun > 1 ? (seen.latest_ns - seen.first_ns) / (seen.begun - 1) : 0;
    }
    out.memory = parts_.settings.environment()->memory;
    out.rings = parts_.rings.are_made() ? parts_.rings.memory().path() : "";
    parts_.capture.describe(out, is_recording(), uses_cuda);
    return true;
}

}  // namespace prof
