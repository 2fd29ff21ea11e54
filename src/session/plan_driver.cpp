// What a plan says is done here (window_plan.hpp): windows opened and ended by steps and capture ranges, captures
// completed before the recording ends.
#include <chrono>
#include <exception>
#include <vector>

#include "hooks/nvtx/nvtx_hooks.hpp"
#include "options/plans.hpp"
#include "ring/gate.hpp"
#include "ring/registry.hpp"
#include "session/export_bound.hpp"
#include "session/out_of_memory.hpp"
#include "session/recording.hpp"

namespace prof {
namespace {

// cudaProfilerStart and cudaProfilerStop are heard inside a callback of CUPTI's. The thread that detaches from CUPTI
// may be waiting for the end of that callback, so it does not wait for ever for anybody.
constexpr std::chrono::milliseconds longest_wait_in_callback{100};

std::uint64_t steady_now_ns() noexcept {
    const auto now = std::chrono::steady_clock::now().time_since_epoch();
    return static_cast<std::uint64_t>(std::chrono::duration_cast<std::chrono::nanoseconds>(now).count());
}

}  // namespace

void recording_session::begin_plan() {
    ranges_are_steps_.store(!options_.step_range.empty());
    std::vector<watched_range> watched;
    if (range_counts_steps()) watched.push_back({range_use::step, options_.step_range});
    if (!options_.nvtx_capture.empty()) watched.push_back({range_use::capture, options_.nvtx_capture});
    watch_ranges(watched, *region_, on_watched_range);
    plan_ = make_plan(options_);
    begin_slow_steps();
    step_use_.store(plan_ != nullptr ? step_use::opens_windows : slow_steps_ ? step_use::compared : step_use::counted);
    idle_gate_ = watched.empty() ? 0 : watching_epoch;
    if (!observes_idle_graphs(options_)) set_gate(recording_epoch, idle_gate_);
    observes_ = options_.capture_range == window_trigger::profiler_calls;
    if (observes_ && has_cuda()) listen();
    if (plan_ != nullptr) observe_while_idle();  // before the background thread may have CUPTI to itself
    perform(plan_ == nullptr ? plan_action::open : plan_->begin(), 0, false);
}

void recording_session::leave_plan() {
    plan_ = nullptr;
    step_use_.store(step_use::counted);
    observes_ = false;
    idle_gate_ = 0;
    set_gate(recording_epoch, window_state_ == window_state::open ? epoch_ : 0);
    if (region_ != nullptr) watch_ranges({}, *region_, nullptr);
}

std::string recording_session::refusal(const char* otherwise) const {
    if (!recording()) return "no recording is running";
    return plan_ == nullptr ? otherwise
                            : "the recording's windows are opened and ended by its options: " + plan_text(options_);
}

std::uint64_t recording_session::current_step() const noexcept { return step_under_way(steps_.load()); }

// Where a range is a step, the first one begins it; else the first call ends step 0.
std::uint64_t recording_session::step_under_way(std::uint64_t begun) const noexcept {
    return range_counts_steps() && begun != 0 ? begun - 1 : begun;
}

bool recording_session::step() {
    if (!recording()) return false;
    if (!range_counts_steps()) {
        program_counts.store(true);
        count_step();
    }
    return true;
}

// A thread of the program waits only where it opens windows. Of steps that are compared, one that comes while a command
// has the session is left out.
void recording_session::count_step() {
    const step_use use = step_use_.load();
    session_lock lock(mutex_, std::defer_lock);
    if (use == step_use::opens_windows) lock.lock();
    if (use == step_use::compared) (void)lock.try_lock();
    if (!recording()) return;
    const std::uint64_t begun = steps_.fetch_add(1) + 1;
    if (lock.owns_lock()) {
        note_slow_step();
        hear(plan_event::step);
    }
    record_mark("step", step_under_way(begun));
}

bool recording_session::on_watched_range(range_use use, bool begins) noexcept {
    recording_session& session = instance();
    try {
        if (use == range_use::step) {
            session.count_step();
            return false;
        }
        const std::lock_guard lock(session.mutex_);
        if (!session.recording()) return false;
        const bool was_open = session.window_state_ == window_state::open;
        session.hear(begins ? plan_event::trigger_begin : plan_event::trigger_end);
        return !was_open && session.window_state_ == window_state::open;
    } catch (const std::exception& failure) {
        warn_once(failure.what());
    }
    return false;
}

void recording_session::on_profiler_call(bool starts) noexcept {
    if (gate_was_wiped()) return;
    recording_session& session = instance();
    try {
        const std::unique_lock lock(session.mutex_, longest_wait_in_callback);
        if (lock && !session.observes_) return;  // the plan has come to its end
        // A window that opens has to wait for the one before; one that ends has not.
        if (!lock || (starts && !session.background_.wait_until_idle(longest_wait_in_callback))) {
            warn_once(std::string(starts ? "cudaProfilerStart" : "cudaProfilerStop") +
                      " was passed over: it came while the window before was still being read");
            return;
        }
        if (!starts && session.window_state_ != window_state::open && session.epoch_ != 0) {
            warn_once(
                "cudaProfilerStop without a cudaProfilerStart: one that follows a window's end within "
                "milliseconds, while CUPTI is let go of, is not heard");
        }
        session.hear(starts ? plan_event::trigger_begin : plan_event::trigger_end);
    } catch (const std::exception& failure) {
        warn_once(failure.what());
    }
}

void recording_session::listen() {
    if (process_ends_) return;
    make_tracer();
    const std::string problem = tracer_->listen(on_profiler_call);
    if (problem.empty()) {
        leave_before_cuda();
    } else {
        warn_once("capture_range=cudaProfilerApi: nothing is recorded: " + problem);
    }
}

void recording_session::hear(plan_event event) {
    if (plan_ == nullptr) return;
    const std::uint64_t since = steady_now_ns();
    const std::uint64_t step = current_step();
    const plan_action action = plan_->next(event, step, since);
    // A step that begins is none that the window has.
    const bool step_begins = event == plan_event::step;
    perform(action, step_begins && step != 0 ? step - 1 : step, step_begins);
    if (action != plan_action::none) plan_->took(action, steady_now_ns() - since);
}

void recording_session::perform(plan_action action, std::uint64_t last_step, bool ends_with_step) {
    const bool completes = options_.export_each == capture_unit::window;
    const bool is_open = window_state_ == window_state::open;
    switch (action) {
        case plan_action::none:
            return;
        case plan_action::warm_up:
            begin_warm_up();
            return;
        case plan_action::open:
            open_next_window();
            return;
        case plan_action::close:
            if (is_open) end_window(last_step, ends_with_step, completes);
            return;
        case plan_action::rewarm:
            if (is_open) end_window(last_step, ends_with_step, completes);
            begin_warm_up();
            return;
        case plan_action::reopen:
            if (is_open) end_window(last_step, ends_with_step, completes);
            open_next_window();
            return;
        case plan_action::finish:
            observes_ = false;
            idle_gate_ = 0;
            plan_is_over_ = true;
            leave_to_children();
            if (is_open) end_window(last_step, ends_with_step, true);
            if (window_state_ == window_state::warming_up) leave_warm_up();
            return;
    }
}

// The program does not wait long for a disk, so a window may be passed over: the plan goes on as if it had been there,
// and what was warmed up stays so for the next one.
void recording_session::open_next_window() {
    if (await_settled(longest_wait_for_disk)) return open_window();
    ++windows_passed_over_;
    warn_once("a window was passed over: the capture's disk did not answer while the one before was taken in");
}

// The window that it was for was passed over.
void recording_session::leave_warm_up() {
    window_state_ = window_state::shut;
    background_.post([this, drain = draining()] { settle(drain, false); });
}

// Whether what was left to be done of the windows before is done. That is waited for as long as it takes, but not while
// calls to the disk take more than `patience` of the time.
bool recording_session::await_settled(std::chrono::nanoseconds patience) {
    constexpr std::chrono::milliseconds between_looks{10};
    const auto limit = static_cast<std::uint64_t>(patience.count());
    std::shared_ptr<drain_thread> drain;
    {
        const std::lock_guard lock(drain_mutex_);
        drain = settling_.lock();
    }
    const std::uint64_t before = drain == nullptr ? 0 : drain->disk().spent_ns();
    while (!background_.wait_until_idle(between_looks)) {
        if (drain == nullptr) continue;
        if (drain->disk().standstill_ns() > limit || drain->disk().spent_ns() - before > limit) return false;
    }
    return true;
}

// Whether what is being waited for has been in one call to the disk for long.
bool recording_session::disk_stands_still() {
    const std::lock_guard lock(drain_mutex_);
    for (const auto& drain : {settling_.lock(), drain_}) {
        if (drain != nullptr && std::chrono::nanoseconds(drain->disk().standstill_ns()) >= longest_standstill) {
            return true;
        }
    }
    return false;
}

void recording_session::note_settling(const std::shared_ptr<drain_thread>& drain) {
    const std::lock_guard lock(drain_mutex_);
    settling_ = drain;
}

// Behind the program's back: the window's last records are taken in and, if it is the last of its capture, that is
// completed and exported.
void recording_session::end_window(std::uint64_t last_step, bool ends_with_step, bool completes_capture) {
    close_window(last_step, ends_with_step);
    if (completes_capture) set_gate(recording_epoch, idle_gate_);  // what is drained last must come to an end
    const std::shared_ptr<drain_thread> drain = completes_capture ? take_drain() : draining();
    note_settling(drain);
    background_.post([this, drain, options = options_, steps = steps_.load(), completes_capture, listens = observes_] {
        do_as_far_as_memory_goes([&] { settle(drain, false); });
        if (completes_capture && drain != nullptr) complete_capture(*drain, options, steps);
        if (listens) listen();
        if (completes_capture) {
            observe_while_idle();
        } else {
            if (drain != nullptr && !observes_idle_graphs(options)) drain->rest();
            observe_idle_graphs();
        }
    });
}

void recording_session::begin_warm_up() {
    // Work of the warm-up is known by its launches; where these are not recorded the window begins without one.
    if (!activities_of(options_).has(activity::launches)) return;
    if (window_state_ == window_state::warming_up) return;  // for a window that was passed over
    ++epoch_;
    window_state_ = window_state::warming_up;
    if (!has_cuda()) return;
    background_.post([this] { attach_tracer(false); });
}

void recording_session::complete_capture(drain_thread& drain, const session_options& options, std::uint64_t steps) {
    do_as_far_as_memory_goes([&] {
        drain.set_property("steps", std::to_string(steps));
        report_skipped_windows(drain);
    });
    std::string problem = drain.finish(format::end_reason::stopped);
    keep_totals(drain);
    exporter_.post([this, problem, options, path = absolute_capture_path()]() mutable {
        if (problem.empty()) problem = write_bounded_exports(options, path);
        if (!problem.empty()) note_export_problem(problem);
    });
}

std::string recording_session::export_problem() {
    const std::lock_guard lock(drain_mutex_);
    return export_problem_;
}

// No other is made until the next window.
std::shared_ptr<drain_thread> recording_session::take_drain() {
    try {
        // Whoever met the first record may not have come to begin the capture yet.
        if (first_use_was_met()) (void)make_drain();
    } catch (const std::exception&) {
        // Said when it was tried first.
    }
    const std::lock_guard lock(drain_mutex_);
    accepting_ = false;
    return std::move(drain_);
}

}  // namespace prof
