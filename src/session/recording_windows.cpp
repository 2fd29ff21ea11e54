// SPDX-License-Identifier: Apache-2.0
#include "session/recording_windows.hpp"

#include <chrono>
#include <string>
#include <utility>
#include <vector>

#include "base/clock.hpp"
#include "options/plans.hpp"
#include "ring/gate.hpp"
#include "session/process/child_family.hpp"
#include "session/process/events.hpp"
#include "session/process/out_of_memory.hpp"
#include "session/process/patience.hpp"

namespace prof {
namespace {

std::uint64_t steady_now_ns() noexcept {
    const auto now = std::chrono::steady_clock::now().time_since_epoch();
    return static_cast<std::uint64_t>(std::chrono::duration_cast<std::chrono::nanoseconds>(now).count());
}

}  // namespace

void recording_windows::note_change() noexcept { changed_ns_ = clock_ns(CLOCK_MONOTONIC); }

void recording_windows::begin_plan(bool compares_steps) {
    const recording_settings::snapshot options = parts_.settings.options();
    std::vector<watched_range> watched;
    if (steps_.by_ranges()) watched.push_back({range_use::step, options->step_range});
    if (!options->nvtx_capture.empty()) watched.push_back({range_use::capture, options->nvtx_capture});
    watch_ranges(watched, parts_.rings.memory(), on_range_);
    plan_is_over_ = false;
    opened_ = 0;
    plan_ = make_plan(*options);
    steps_.set_use(plan_ != nullptr ? step_use::opens_windows
                   : compares_steps ? step_use::compared
                                    : step_use::counted);
    parts_.idle.set_gate_between_windows(watched.empty() ? 0 : watching_epoch);
    if (!observes_idle_graphs(*options)) set_gate(recording_epoch, parts_.idle.gate());
    observes_profiler_ = options->capture_range == window_trigger::profiler_calls;
    if (observes_profiler_ && parts_.gpu.has_cuda()) parts_.gpu.observe_profiler_calls();
    if (plan_ != nullptr) parts_.idle.begin();  // before the settling thread may have CUPTI to itself
    if (plan_ == nullptr) return perform(plan_action::open, 0, false);
    take(plan_->begin(), 0, false);
}

void recording_windows::leave_plan() {
    plan_ = nullptr;
    steps_.set_use(step_use::counted);
    observes_profiler_ = false;
    parts_.idle.set_gate_between_windows(0);
    set_gate(recording_epoch, is_open() ? epoch_ : 0);
    if (parts_.rings.are_made()) watch_ranges({}, parts_.rings.memory(), nullptr);
}

void recording_windows::apply(plan_event event) {
    if (plan_ == nullptr) return;
    const std::uint64_t step = steps_.current();
    // The window does not have the step that just begins.
    const bool step_begins = event == plan_event::step;
    take(plan_->next(event, step, steady_now_ns()), step_begins && step != 0 ? step - 1 : step, step_begins);
}

void recording_windows::take(plan_action action, std::uint64_t last_step, bool ends_with_step) {
    if (action == plan_action::none) return;
    const std::uint64_t since = steady_now_ns();
    perform(action, last_step, ends_with_step);
    plan_->took(action, is_open(), steady_now_ns() - since);
}

void recording_windows::perform(plan_action action, std::uint64_t last_step, bool ends_with_step) {
    const auto end_if_open = [&](bool completes) {
        if (is_open()) end(last_step, ends_with_step, completes);
    };
    const bool completes_each = parts_.settings.options()->export_each == capture_unit::window;
    switch (action) {
        case plan_action::none:
            return;
        case plan_action::warm_up:
            return begin_warm_up();
        case plan_action::open:
            return open_next();
        case plan_action::close:
            end_if_open(completes_each);
            if (state_ == window_state::warming_up) leave_warm_up();
            return;
        case plan_action::rewarm:
            end_if_open(completes_each);
            return begin_warm_up();
        case plan_action::reopen:
            end_if_open(completes_each);
            return open_next();
        case plan_action::finish:
            observes_profiler_ = false;
            parts_.idle.set_gate_between_windows(0);
            plan_is_over_ = true;
            leave_to_children();
            end_if_open(true);
            if (state_ == window_state::warming_up) leave_warm_up();
            return;
    }
}

outcome recording_windows::refusal(const char* otherwise) const {
    if (!is_recording_) return outcome::wrong_state("no recording is running");
    if (plan_ == nullptr) return outcome::wrong_state(otherwise);
    return outcome::wrong_state("the recording's windows are opened and ended by its options: " +
                                plan_text(*parts_.settings.options()));
}

void recording_windows::open() {
    const bool warm = state_ == window_state::warming_up;
    if (!warm) ++epoch_;
    parts_.capture.leave_failed();
    const drawn_steps drawn = plan_ == nullptr ? drawn_steps{} : plan_->drawn_among();
    const bool is_first = parts_.capture.close_to_stragglers();
    if (is_first) {
        parts_.idle.stop();
        parts_.rings.discard_leftovers(observes_idle_graphs(*parts_.settings.options()));
    }
    parts_.capture.open_window({.epoch = epoch_,
                                .warmup_calls = warm ? cupti_tracer::last_unrecorded_call() : 0,
                                .first_step = steps_.current(),
                                .drawn_first = drawn.first,
                                .drawn_among = drawn.count},
                               is_first);
    // Not before: the first record may come late from the recording before.
    if (is_first) parts_.rings.install();
    parts_.capture.publish_window();
    state_ = window_state::open;
    note_change();
    set_gate(recording_epoch, epoch_);
    if (!warm && parts_.gpu.has_cuda()) attach_gpu(false);
    ++opened_;
    post_event(PROF_EVENT_WINDOW_BEGAN, opened_);
}

void recording_windows::open_next() {
    if (parts_.settling.await(longest_wait_for_disk)) return open();
    parts_.settling.note_skipped_window();
}

// No GPU work that is launched from here on is recorded, then no launch either: neither side lacks the other.
void recording_windows::close(std::uint64_t last_step, bool ends_with_step) {
    parts_.gpu.stop_recording();
    parts_.capture.end_window(last_step, ends_with_step);
    set_gate(recording_epoch, parts_.idle.next_epoch());
    parts_.capture.publish_window();
    state_ = window_state::shut;
    note_change();
}

// Not on the program's thread: the window's last records are brought in and, if it is the last of its capture, that is
// completed and exported.
void recording_windows::end(std::uint64_t last_step, bool ends_with_step, bool completes_capture) {
    close(last_step, ends_with_step);
    if (completes_capture) set_gate(recording_epoch, parts_.idle.gate());  // what is drained last must come to an end
    const std::shared_ptr<drain_thread> taken = completes_capture ? parts_.capture.take() : nullptr;
    parts_.settling.note_drain(completes_capture ? taken : parts_.capture.drain_if_made());
    parts_.settling.post([this, taken, options = parts_.settings.options(), steps = steps_.begun(), completes_capture,
                          observes_profiler = observes_profiler_, number = opened_] {
        // The thread that made the window's first record may not have come to make the capture yet.
        const std::shared_ptr<drain_thread> drain = completes_capture ? taken : parts_.capture.drain_of_records();
        parts_.settling.note_drain(drain);
        do_as_far_as_memory_goes([&] { parts_.gpu.settle(drain, false); });
        if (completes_capture && drain != nullptr) complete_capture(*drain, options, steps);
        if (wants_event(PROF_EVENT_WINDOW_ENDED)) {
            do_as_far_as_memory_goes(
                [&] { post_event(PROF_EVENT_WINDOW_ENDED, number, parts_.capture.absolute_path()); });
        }
        if (observes_profiler) parts_.gpu.observe_profiler_calls();
        if (completes_capture) {
            parts_.idle.begin();
        } else {
            if (drain != nullptr && !observes_idle_graphs(*options)) drain->rest();
            parts_.idle.observe_graphs();
        }
    });
}

void recording_windows::complete_capture(drain_thread& drain, recording_settings::snapshot options,
                                         std::uint64_t steps) const {
    do_as_far_as_memory_goes([&] {
        drain.set_property("steps", std::to_string(steps));
        parts_.settling.report_skipped_windows(drain);
    });
    outcome finished = drain.finish(format::end_reason::stopped);
    parts_.capture.keep_totals(drain);
    if (!finished.ok()) return parts_.exports.post_failure(std::move(finished));
    parts_.exports.post_exports(std::move(options), parts_.capture.absolute_path());
}

void recording_windows::begin_warm_up() {
    // Work of the warm-up is recognized by its launches; where these are not recorded the window begins without one.
    if (!activities_of(*parts_.settings.options()).has(activity::launches)) return;
    if (state_ == window_state::warming_up) return;  // for a window that was skipped
    ++epoch_;
    state_ = window_state::warming_up;
    if (!parts_.gpu.has_cuda()) return;
    parts_.settling.post([this, epoch = epoch_] { parts_.gpu.attach(epoch, false); });
}

void recording_windows::leave_warm_up() {
    state_ = window_state::shut;
    parts_.settling.post([this] { parts_.gpu.settle(parts_.capture.drain_of_records(), false); });
}

void recording_windows::leave_to_children() {
    child_family::begin();
    const recording_settings::snapshot options = parts_.settings.options();
    auto now = std::make_unique<heritage>();
    now->environment = *parts_.settings.environment();
    now->options = *options;
    now->directory = parts_.settings.facts().working_directory;
    now->records = is_recording_ && !plan_is_over_ && options->forked_children;
    now->is_paused = plan_ == nullptr && state_ == window_state::shut;
    to_children_.publish(std::move(now));
}

}  // namespace prof
