// The end of a recording: the capture is closed, and what is made from it is made.
#include <chrono>
#include <utility>

#include "ring/registry.hpp"
#include "session/export_bound.hpp"
#include "session/injections.hpp"
#include "session/out_of_memory.hpp"
#include "session/recording.hpp"

namespace prof {
namespace {

constexpr std::chrono::milliseconds longest_wait = std::chrono::milliseconds::max();

}  // namespace

// REQUIRES: commands_ is held.
session_result recording_session::complete(format::end_reason reason, std::string& problem) {
    const bool exits = reason == format::end_reason::exited;
    const auto [was_recording, options] = end_recording(exits);
    waits_for_gpu_.store(true);
    // A program that ends is not held up by a GPU that does not.
    const bool is_settled = exits ? await_settled_at_exit() : background_.wait_until_idle(longest_wait);
    const std::shared_ptr<drain_thread> drain = take_drain();
    if (drain == nullptr && !is_settled) return leave_to_window();
    note_settling(drain);
    if (exits && ends_in_a_hurry() && drain != nullptr) (void)drain->take_over();
    if (was_recording || exits) {
        set_gate(recording_epoch, 0);  // what is drained last must come to an end
        if (is_settled) do_as_far_as_memory_goes([&] { settle(drain, exits); });
    }
    if (exits) {
        if (drain != nullptr) last_drain_ = drain;  // its thread may outlive the end of the capture
        end_ = end_progress::left_cupti;
    }
    if (!is_settled) cupti_tracer::abandon();
    waits_for_gpu_.store(false);
    if (exits) {
        const std::lock_guard lock(mutex_);
        stop_observing();
    }
    const session_result result = complete_recording(was_recording, drain, options, reason, problem);
    const std::lock_guard lock(mutex_);
    if (std::exchange(completes_, false)) changed_ns_ = clock_ns(CLOCK_MONOTONIC);
    return result;
}

// A GPU that does not end, and a disk that does not answer, are given five seconds in all.
bool recording_session::await_settled_at_exit() {
    constexpr std::chrono::milliseconds between_looks{10};
    const auto end = std::chrono::steady_clock::now() + longest_standstill;
    while (!background_.wait_until_idle(between_looks)) {
        if (disk_stands_still() || std::chrono::steady_clock::now() >= end) return false;
    }
    return true;
}

// At exit: the capture is that of a window which is still being taken in. It has no end, and needs its rings.
session_result recording_session::leave_to_window() {
    disk_is_silent_ = disk_stands_still();
    set_gate(recording_epoch, 0);
    end_ = end_progress::left_cupti;
    waits_for_gpu_.store(false);
    return session_result::failed;
}

// From here on nobody but stop() touches what the recording leaves: hooks are shut out, and there is no plan.
std::pair<bool, session_options> recording_session::end_recording(bool exits) {
    const std::lock_guard lock(mutex_);
    if (recording() || exits) leave_plan();
    if (window_state_ == window_state::open) close_window(current_step(), false);
    window_state_ = window_state::shut;
    const bool was_recording = recording_.exchange(false);
    completes_ = was_recording || exits;
    if (was_recording) changed_ns_ = clock_ns(CLOCK_MONOTONIC);
    if (!exits) leave_to_children();  // then it may be the allocator that the program stands still in
    return {was_recording, options_};
}

session_result recording_session::complete_recording(bool was_recording, const std::shared_ptr<drain_thread>& drain,
                                                     const session_options& options, format::end_reason reason,
                                                     std::string& problem) {
    const bool exits = reason == format::end_reason::exited;
    if (drain != nullptr) {
        do_as_far_as_memory_goes([&] {
            drain->set_property("steps", std::to_string(steps_.load()));
            report_taken_variables(*drain);
            report_skipped_windows(*drain);
        });
        disk_is_silent_ = exits && !drain->is_finished(reason, longest_standstill);
        if (disk_is_silent_) return session_result::failed;
        problem = ends_elsewhere_ ? drain->close(reason) : drain->finish(reason);
        keep_totals(*drain);
    }
    if (exits) {
        end_ = end_progress::closed;
        // Nobody needs them any more; exports may take longer than the process is given.
        take_names_off_rings();
        if (!has_given_up_) region_->remove_file();
    } else if (was_recording) {
        const std::lock_guard lock(mutex_);
        observe_while_idle();
    }
    if (drain != nullptr && problem.empty()) post_exports(options);
    if (!exporter_.wait_while_it_works(longest_standstill)) {
        if (problem.empty())
            problem = "exports or a dump wait for a disk that does not answer; the recording has ended";
        return session_result::failed;
    }
    if (drain == nullptr) {
        // Nothing was recorded, so that there is no file, or all of it is written already.
        {
            const std::lock_guard lock(drain_mutex_);
            if (!missing_.empty()) warn_once(missing_);
        }
        problem = was_recording ? export_problem() : "no recording is running";
        if (!was_recording) return session_result::wrong_state;
        return problem.empty() ? session_result::ok : session_result::failed;
    }
    if (problem.empty()) problem = export_problem();
    if (problem.empty()) return session_result::ok;
    warn_once(problem);
    return session_result::failed;
}

// On a thread of ours: the program does not wait longer for it, when it ends, than it goes on.
void recording_session::post_exports(const session_options& options) {
    if (!options.exports.any()) return;
    exporter_.post([this, options, path = absolute_capture_path()] {
        const std::string problem = write_bounded_exports(options, path);
        if (!problem.empty()) note_export_problem(problem);
    });
}

void recording_session::note_export_problem(const std::string& problem) {
    warn_once(problem);
    const std::lock_guard lock(drain_mutex_);
    if (export_problem_.empty()) export_problem_ = problem;
}

void recording_session::report_taken_variables(drain_thread& drain) {
    const std::lock_guard lock(drain_mutex_);
    if (!missing_.empty()) return;
    missing_ = taken_by_others(attached_ == nullptr && !activities_of(options_).is_empty());
    if (missing_.empty()) return;
    drain.set_property("missing", missing_);
    warn_once(missing_);
}

void recording_session::report_skipped_windows(drain_thread& drain) {
    const std::uint64_t count = windows_passed_over_.load();
    if (count == 0) return;
    drain.set_property("windows_notice", std::to_string(count) + (count == 1 ? " window was" : " windows were") +
                                             " passed over: the disk did not answer while the one before was taken in");
}

}  // namespace prof
