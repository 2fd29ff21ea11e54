// SPDX-License-Identifier: Apache-2.0
#include "session/recording_commands.hpp"

#include <chrono>
#include <cstdint>
#include <string>
#include <utility>

#include "ring/gate.hpp"
#include "session/control.hpp"
#include "session/earlier_nvtx.hpp"
#include "session/events.hpp"
#include "session/out_of_memory.hpp"
#include "session/patience.hpp"
#include "session/run_journal.hpp"
#include "session/warn_once.hpp"

namespace prof {
namespace {

constexpr const char* no_answer_from_disk =
    "the capture's disk does not answer: what was recorded waits in memory for it";

constexpr const char* ended_by_program =
    "this recording began by itself, and ended where the program called prof_start; what followed is in a capture of "
    "the "
    "program's own recording";

}  // namespace

outcome recording_commands::start(const session_options& options, requester who) {
    const session_lock command(mutex_);
    if (who == requester::program && runs_by_itself_) {
        windows_.keep_text("start_notice", ended_by_program);
        complete(format::end_reason::stopped).ignore();  // it has said what failed
    }
    const session_lock state(windows_.mutex());
    outcome begun = windows_.begin(options, who);
    if (begun.ok()) runs_by_itself_ = who == requester::itself;
    return begun;
}

outcome recording_commands::stop() {
    const session_lock command(mutex_);
    outcome completed = complete(format::end_reason::stopped);
    if (parts_.rings.inherits()) parts_.rings.take_name_off();
    // A process that does not record has no thread that it does not need.
    const bool is_idle = parts_.settling.end() && parts_.exports.end();
    if (is_idle && !windows_.is_recording() && !parts_.gpu.has_tracer() && !parts_.exit.has_begun()) {
        parts_.exit.rest(false);
    }
    return completed;
}

// A program that ends is not held up by another thread that waits for a GPU which does not end. Then no thread
// completes the capture, and it is as after a crash.
bool recording_commands::lock_at_exit() {
    std::uint64_t worked_ns = parts_.exports.cpu_ns();
    while (!mutex_.try_lock_for(longest_standstill)) {
        const std::uint64_t before_ns = std::exchange(worked_ns, parts_.exports.cpu_ns());
        const bool exports = !parts_.exports.is_idle();
        if (waits_for_gpu_ || parts_.settling.disk_stands_still() || (exports && worked_ns == before_ns)) return false;
    }
    return true;
}

void recording_commands::complete_at_exit() {
    refuse_control();
    if (!lock_at_exit()) return;
    const session_lock command(mutex_, std::adopt_lock);
    complete(format::end_reason::exited).ignore();
    announce_capture();
    if (parts_.exit.disk_stands_still() || !parts_.exports.is_idle() || !parts_.settling.is_idle()) return;
    if (parts_.exit.is_in_a_hurry()) {
        hurry_control();
    } else {
        close_control();
        end_threads();
    }
    parts_.exit.note_complete();
}

// Not beside a thread that exits in the middle of the allocator: the end of a thread frees memory.
void recording_commands::end_threads() {
    if (parts_.exit.is_on_end_thread()) return;
    (void)parts_.settling.end();
    (void)parts_.exports.end();
    end_event_thread();
}

void recording_commands::announce_capture() {
    const recording_settings::snapshot options = parts_.settings.options();
    if (!options->announce || !options->run_id.empty()) return;
    const std::string path = parts_.capture.absolute_path();
    write_line(path.empty() ? "no capture: no range was made, and no call to CUDA"
                            : "capture: " + path + " (prof report " + path + ")");
}

outcome recording_commands::complete(format::end_reason reason) {
    runs_by_itself_ = false;
    constexpr std::chrono::milliseconds for_ever = std::chrono::milliseconds::max();
    const bool exits = reason == format::end_reason::exited;
    bool was_recording = false;
    std::uint64_t open_window = 0;
    recording_settings::snapshot options;
    {
        const session_lock state(windows_.mutex());
        open_window = windows_.open_window();
        was_recording = windows_.end(exits);
        options = parts_.settings.options();
    }
    waits_for_gpu_ = true;
    // A program that ends is not held up by a GPU that does not.
    const bool is_settled = exits ? parts_.settling.await_at_exit() : parts_.settling.wait_until_idle(for_ever);
    const std::shared_ptr<drain_thread> drain = parts_.capture.take();
    if (drain == nullptr && !is_settled) return leave_to_settling_thread();
    parts_.settling.note_drain(drain);
    if (exits && parts_.exit.is_in_a_hurry() && drain != nullptr) (void)drain->take_over();
    if (was_recording || exits) {
        set_gate(recording_epoch, 0);  // what is drained last must come to an end
        if (is_settled) do_as_far_as_memory_goes([&] { parts_.gpu.settle(drain, exits); });
    }
    if (exits) parts_.exit.note_left_cupti(drain);
    if (!is_settled) cupti_tracer::abandon();
    waits_for_gpu_ = false;
    if (exits) {
        const session_lock state(windows_.mutex());
        parts_.idle.stop();
    }
    outcome completed = complete_recording(was_recording, drain, options, reason, open_window);
    const session_lock state(windows_.mutex());
    windows_.note_completed();
    if (was_recording && wants_event(PROF_EVENT_RECORDING_ENDED)) {
        post_event(PROF_EVENT_RECORDING_ENDED, windows_.steps().begun(), parts_.capture.absolute_path(), completed);
    }
    return completed;
}

// At exit: the capture belongs to a window whose last records are still being brought in. It has no end, and needs its
// rings.
outcome recording_commands::leave_to_settling_thread() {
    parts_.exit.note_disk(parts_.settling.disk_stands_still());
    set_gate(recording_epoch, 0);
    parts_.exit.note_left_cupti(nullptr);
    waits_for_gpu_ = false;
    return outcome::failed({});
}

// At exit a disk that does not answer is not waited for (process_exit::disk_stands_still): the capture stays as it is.
outcome recording_commands::close_capture(drain_thread& drain, format::end_reason reason) {
    do_as_far_as_memory_goes([&] {
        drain.set_property("steps", std::to_string(windows_.steps().begun()));
        parts_.capture.report_taken_variables(drain);
        parts_.settling.report_skipped_windows(drain);
    });
    const bool exits = reason == format::end_reason::exited;
    parts_.exit.note_disk(exits && !drain.is_finished(reason, longest_standstill));
    if (parts_.exit.disk_stands_still()) return outcome::failed({});
    outcome finished = parts_.exit.is_on_end_thread() ? drain.close(reason) : drain.finish(reason);
    parts_.capture.keep_totals(drain);
    return finished;
}

outcome recording_commands::complete_recording(bool was_recording, const std::shared_ptr<drain_thread>& drain,
                                               const recording_settings::snapshot& options, format::end_reason reason,
                                               std::uint64_t open_window) {
    const bool exits = reason == format::end_reason::exited;
    outcome closed;
    if (drain != nullptr) {
        closed = close_capture(*drain, reason);
        if (parts_.exit.disk_stands_still()) return closed;
    }
    if (open_window != 0 && wants_event(PROF_EVENT_WINDOW_ENDED)) {
        post_event(PROF_EVENT_WINDOW_ENDED, open_window, parts_.capture.absolute_path(), closed);
    }
    if (exits) {
        parts_.exit.note_closed();
        // The rings are not needed any more; exports may take longer than the process is given.
        parts_.rings.take_name_off();
        if (!parts_.exit.has_given_up()) parts_.rings.remove_file();
    } else if (was_recording) {
        const session_lock state(windows_.mutex());
        parts_.idle.begin();
    }
    if (drain != nullptr && closed.ok()) parts_.exports.post_exports(options, parts_.capture.absolute_path());
    if (!parts_.exports.wait_while_it_works(longest_standstill)) {
        if (!closed.ok()) return closed;
        return outcome::failed("exports or a dump wait for a disk that does not answer; the recording has ended");
    }
    if (!closed.ok()) {
        warn_once(closed.message());
        note_loss(options->run_journal, closed.message());
        return closed;
    }
    outcome exported = parts_.exports.first_failure();
    if (drain == nullptr) {
        // Nothing was recorded, so there is no file, or all of it is written already.
        if (const std::string missing = parts_.capture.missing(); !missing.empty()) {
            warn_once(missing);
        } else if (const std::string notice = earlier_nvtx_notice(); was_recording && !notice.empty()) {
            warn_once("nothing was recorded; " + notice);
        }
        if (!was_recording) return outcome::wrong_state("no recording is running");
        return exported;
    }
    if (!exported.ok()) warn_once(exported.message());
    return exported;
}

outcome recording_commands::sync() {
    const session_lock command(mutex_);
    std::shared_ptr<drain_thread> drain;
    {
        if (!windows_.lock_settled(longest_standstill)) return outcome::failed(no_answer_from_disk);
        const session_lock state(windows_.mutex(), std::adopt_lock);
        parts_.gpu.flush();
        drain = parts_.capture.drain();
    }
    return bring_in(drain);
}

outcome recording_commands::sync_before_exit() {
    constexpr const char* takes_too_long = "another call is under way that takes too long";
    if (!lock_at_exit()) return outcome::failed(takes_too_long);
    const session_lock command(mutex_, std::adopt_lock);
    if (!parts_.settling.wait_until_idle(longest_standstill)) return outcome::failed(takes_too_long);
    std::shared_ptr<drain_thread> drain;
    {
        session_mutex& windows = windows_.mutex();
        if (!windows.try_lock_for(longest_standstill)) return outcome::failed(takes_too_long);
        const session_lock state(windows, std::adopt_lock);
        if (!parts_.settling.is_idle()) return outcome::failed(takes_too_long);
        parts_.gpu.flush();
        drain = parts_.capture.drain();
    }
    outcome brought_in = bring_in(drain);
    if (brought_in.ok()) parts_.exit.note_synced();
    return brought_in;
}

outcome recording_commands::bring_in(const std::shared_ptr<drain_thread>& drain) {
    const auto synced = drain == nullptr ? drain_thread::sync_result::done : drain->sync(longest_standstill);
    if (synced == drain_thread::sync_result::no_answer) return outcome::failed(no_answer_from_disk);
    if (synced != drain_thread::sync_result::done) {
        return outcome::failed("the capture's disk is full: what was recorded waits in memory for room on it");
    }
    if (!parts_.capture.path().empty()) return {};
    if (drain != nullptr) {
        if (outcome created = drain->creation(); !created.ok()) return created;
    }
    return outcome::wrong_state("nothing was recorded yet");
}

}  // namespace prof
