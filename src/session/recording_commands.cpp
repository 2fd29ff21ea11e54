// SPDX-License-Identifier: Apache-2.0
#include "session/recording_commands.hpp"

#include <chrono>
#include <cstdint>
#include <new>
#include <string>
#include <utility>

#include "ring/gate.hpp"
#include "session/control.hpp"
#include "session/process/earlier_nvtx.hpp"
#include "session/process/events.hpp"
#include "session/process/journal_notes.hpp"
#include "session/process/out_of_memory.hpp"
#include "session/process/patience.hpp"
#include "session/process/warn_once.hpp"

namespace prof {
namespace {

constexpr const char* no_answer_from_disk =
    "the capture's disk does not answer: what was recorded waits in memory for it";

constexpr const char* ended_by_program =
    "this recording began automatically, and the program's prof_start ended it: what followed is in the capture that "
    "prof_start began";

constexpr const char* left_for_later =
    "the capture's disk does not answer: the recording has ended, and its capture is completed once the disk answers; "
    "no other recording can begin until then";
constexpr const char* waits_for_recording_before =
    "the disk does not answer on which the capture of the recording before is completed: nothing is started; call "
    "again "
    "once it answers";

}  // namespace

outcome recording_commands::start(const session_options& options, requester caller) {
    const session_lock command(mutex_);
    if (caller == requester::program && runs_by_itself_) {
        if (const auto drain = parts_.capture.drain_of_records()) drain->set_property("start_notice", ended_by_program);
        complete_stopped().ignore();  // it has said what failed
    }
    if (is_left_behind()) return outcome::failed(waits_for_recording_before);
    const session_lock state(windows_.mutex());
    outcome begun = windows_.begin(options, caller);
    if (begun.ok()) runs_by_itself_ = caller == requester::itself;
    return begun;
}

outcome recording_commands::stop() {
    const session_lock command(mutex_);
    outcome completed = complete_stopped();
    if (parts_.rings.inherits()) parts_.rings.take_name_off();
    if (ending_.reached == ending::progress::left_behind) return completed;
    // A process that does not record has no thread that it does not need.
    const bool is_idle = parts_.settling.end() && parts_.exports.end();
    if (is_idle && !windows_.is_recording() && !parts_.gpu.has_tracer() && !parts_.exit.has_begun()) {
        parts_.exit.rest(false);
    }
    return completed;
}

bool recording_commands::is_left_behind() {
    if (ending_.reached != ending::progress::left_behind) return false;
    return !parts_.settling.await(longest_wait_for_disk);
}

// The settling thread does all that may have to wait for the disk. A thread of the program's waits for it as long as
// the disk answers. After that the settling thread still has the drain thread, and completes the capture once it can.
outcome recording_commands::complete_stopped() {
    runs_by_itself_ = false;
    {
        const session_lock state(windows_.mutex());
        const std::uint64_t open_window = windows_.open_window();
        if (!windows_.end(false)) return outcome::wrong_state("no recording is running");
        ending_.options = parts_.settings.options();
        ending_.open_window = open_window;
        ending_.steps = windows_.steps().begun();
        ending_.reached = ending::progress::under_way;
    }
    waits_for_gpu_ = true;
    try {
        parts_.settling.post([this] { bring_to_end(); });
    } catch (const std::bad_alloc&) {
        bring_to_end();
    }
    if (!parts_.settling.await_while_disk_answers(longest_standstill)) {
        auto reached = ending::progress::under_way;
        if (ending_.reached.compare_exchange_strong(reached, ending::progress::left_behind)) {
            return outcome::failed(left_for_later);
        }
    }
    waits_for_gpu_ = false;
    outcome completed = exports_of(ending_.has_capture, ending_.closed, true);
    note_ended(ending_.steps, ending_.path, completed);
    return completed;
}

// On the settling thread, which nobody but complete_stopped() has anything else to do for until it is done.
void recording_commands::bring_to_end() {
    const std::shared_ptr<drain_thread> drain = parts_.capture.take();
    parts_.settling.note_drain(drain);
    set_gate(recording_epoch, 0);  // what is drained last must come to an end
    do_as_far_as_memory_goes([&] { parts_.gpu.settle(drain, false); });
    waits_for_gpu_ = false;
    ending_.has_capture = drain != nullptr;
    ending_.closed = {};
    if (drain != nullptr) {
        describe_end(*drain);
        ending_.closed = drain->finish(format::end_reason::stopped);
        parts_.capture.keep_totals(*drain);
    }
    do_as_far_as_memory_goes([&] {
        ending_.path.clear();
        ending_.path = parts_.capture.absolute_path();
        if (ending_.open_window != 0 && wants_event(PROF_EVENT_WINDOW_ENDED)) {
            post_event(PROF_EVENT_WINDOW_ENDED, ending_.open_window, ending_.path, ending_.closed);
        }
        if (drain != nullptr && ending_.closed.ok()) parts_.exports.post_exports(ending_.options, ending_.path);
    });
    report_loss(*ending_.options, ending_.closed);
    parts_.idle.begin();
    if (ending_.reached.exchange(ending::progress::done) != ending::progress::left_behind) return;
    // No thread of the program's waits any more. After the exports:
    do_as_far_as_memory_goes([&] {
        parts_.exports.post([this, steps = ending_.steps, path = ending_.path, closed = ending_.closed] {
            note_ended(steps, path, closed);
        });
    });
}

// Waits for the exports. Their first failure, if the capture itself is complete (`closed`).
outcome recording_commands::exports_of(bool has_capture, const outcome& closed, bool was_recording) {
    const bool are_made = parts_.exports.wait_while_it_works(longest_standstill);
    if (!closed.ok()) return closed;
    if (!are_made) {
        return outcome::failed("exports or a dump wait for a disk that does not answer; the recording has ended");
    }
    outcome exported = parts_.exports.first_failure();
    if (has_capture) {
        if (!exported.ok()) warn_once(exported.message());
        return exported;
    }
    // Nothing was recorded, so there is no file, or all of it is written already.
    if (const std::string missing = parts_.capture.missing(); !missing.empty()) {
        warn_once(missing);
    } else if (const std::string notice = earlier_nvtx_notice(); was_recording && !notice.empty()) {
        warn_once("nothing was recorded; " + notice);
    }
    return exported;
}

void recording_commands::note_ended(std::uint64_t steps, const std::string& path, const outcome& completed) {
    const session_lock state(windows_.mutex());
    windows_.note_completed();
    if (wants_event(PROF_EVENT_RECORDING_ENDED)) post_event(PROF_EVENT_RECORDING_ENDED, steps, path, completed);
}

void recording_commands::report_loss(const session_options& options, const outcome& closed) {
    if (closed.ok()) return;
    do_as_far_as_memory_goes([&] {
        warn_once(closed.message(), PROF_LOG_ERROR);
        note_loss(options.run_journal, closed.message());
    });
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
    if (!lock_at_exit()) return parts_.exit.note_disk(parts_.settling.disk_stands_still());
    const session_lock command(mutex_, std::adopt_lock);
    complete_exited();
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

void recording_commands::complete_exited() {
    runs_by_itself_ = false;
    bool was_recording = false;
    {
        const session_lock state(windows_.mutex());
        was_recording = windows_.end(true);
    }
    waits_for_gpu_ = true;
    // A program that ends is not held up by a GPU that does not.
    const bool is_settled = parts_.settling.await_at_exit();
    const std::shared_ptr<drain_thread> drain = parts_.capture.take();
    if (drain == nullptr && !is_settled) return leave_to_settling_thread();
    parts_.settling.note_drain(drain);
    if (parts_.exit.is_in_a_hurry() && drain != nullptr) (void)drain->take_over();
    set_gate(recording_epoch, 0);  // what is drained last must come to an end
    if (is_settled) do_as_far_as_memory_goes([&] { parts_.gpu.settle(drain, true); });
    parts_.exit.note_left_cupti(drain);
    if (!is_settled) cupti_tracer::abandon();
    waits_for_gpu_ = false;
    {
        const session_lock state(windows_.mutex());
        parts_.idle.stop();
    }
    close_exited(drain, was_recording);
    const session_lock state(windows_.mutex());
    windows_.note_completed();
}

// The capture belongs to a window, or to a recording, whose last records are still being brought in. It has no end, and
// needs its rings.
void recording_commands::leave_to_settling_thread() {
    parts_.exit.note_disk(parts_.settling.disk_stands_still());
    set_gate(recording_epoch, 0);
    parts_.exit.note_left_cupti(nullptr);
    waits_for_gpu_ = false;
}

void recording_commands::describe_end(drain_thread& drain) {
    do_as_far_as_memory_goes([&] {
        drain.set_property("steps", std::to_string(windows_.steps().begun()));
        parts_.capture.report_taken_variables(drain);
        parts_.settling.report_skipped_windows(drain);
    });
}

// A disk that does not answer is not waited for (process_exit::disk_stands_still): the capture stays as it is.
void recording_commands::close_exited(const std::shared_ptr<drain_thread>& drain, bool was_recording) {
    const recording_settings::snapshot options = parts_.settings.options();
    outcome closed;
    if (drain != nullptr) {
        describe_end(*drain);
        constexpr auto exited = format::end_reason::exited;
        parts_.exit.note_disk(!drain->is_finished(exited, longest_standstill));
        if (parts_.exit.disk_stands_still()) return;
        closed = parts_.exit.is_on_end_thread() ? drain->close(exited) : drain->finish(exited);
        parts_.capture.keep_totals(*drain);
    }
    parts_.exit.note_closed();
    // The rings are not needed any more; exports may take longer than the process is given.
    parts_.rings.take_name_off();
    if (!parts_.exit.has_given_up()) parts_.rings.remove_file();
    if (drain != nullptr && is_logging)
        log_line("the recording ends with the process: " + parts_.capture.absolute_path());
    if (drain != nullptr && closed.ok()) parts_.exports.post_exports(options, parts_.capture.absolute_path());
    exports_of(drain != nullptr, closed, was_recording).ignore();
    report_loss(*options, closed);
}

outcome recording_commands::sync() {
    const session_lock command(mutex_);
    if (!parts_.settling.await(longest_standstill)) return outcome::failed(no_answer_from_disk);
    return bring_in(parts_.capture.drain_of_records());
}

outcome recording_commands::sync_before_exit() {
    constexpr const char* takes_too_long = "another call is under way that takes too long";
    if (!lock_at_exit()) return outcome::failed(takes_too_long);
    const session_lock command(mutex_, std::adopt_lock);
    if (!parts_.settling.wait_until_idle(longest_standstill)) return outcome::failed(takes_too_long);
    outcome brought_in = bring_in(parts_.capture.drain_of_records());
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
