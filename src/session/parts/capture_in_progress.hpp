// SPDX-License-Identifier: Apache-2.0
// The capture that is being recorded, and its drain thread: from the first record of a recording, or of a window with a
// capture of its own, to the moment when it is taken out to be completed.
//
// A capture is made at the first record, and not before, by a thread that may be in the middle of anything while
// another thread holds window_control's lock for long. So this state has a lock of its own. It is held for a short
// time: no function waits under it for a disk, the GPU or a thread. Any thread; it is taken after window_control's
// lock.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "collect/drain_thread.hpp"
#include "hooks/cupti/tracer.hpp"
#include "session/parts/process_exit.hpp"
#include "session/parts/recording_settings.hpp"
#include "session/parts/session_rings.hpp"
#include "session/parts/session_status.hpp"
#include "session/process/lock_order.hpp"
#include "session/process/session_mutex.hpp"

namespace prof {

// What there is of a capture.
enum class capture_stage : std::uint8_t {
    none,       // no record was made, or none is to have a capture
    beginning,  // a thread has made the first record, and is about to start the drain thread
    under_way,
};

class capture_in_progress {
public:
    capture_in_progress(recording_settings& settings, session_rings& rings, process_exit& exit) noexcept
        : settings_(settings), rings_(rings), exit_(exit) {}

    // A recording begins: what is known of the one before is dropped.
    void reset() PROF_EXCLUDES(mutex_);
    // Whether no capture is in progress. Then none begins before open_window(), whatever is left in the rings of the
    // last window, in which there may have been no record.
    bool close_to_stragglers() PROF_EXCLUDES(mutex_);
    // The window begins now: from here on a first record makes a capture. `is_first`: of a capture.
    void open_window(const format::window_entry& window, bool is_first) PROF_EXCLUDES(mutex_);
    // It ends now. `ends_with_step`: step `last_step` is over.
    void end_window(std::uint64_t last_step, bool ends_with_step) PROF_EXCLUDES(mutex_);
    // Hands the window as it is now to the capture, if there is one.
    void publish_window() PROF_EXCLUDES(mutex_);

    // On the thread that made the first record: starts the drain thread, which makes the file, and waits for that, but
    // not for long. So a process that dies in its first millisecond has a capture, too, unless the disk is slow. Does
    // nothing if there is a capture already, or none is wanted. Throws.
    void begin() PROF_EXCLUDES(mutex_);
    // begin() has failed and the gate was shut. A capture that is made later states it.
    void note_refusal() PROF_EXCLUDES(mutex_);
    // If the file could not be made: the next window tries again.
    void leave_failed() PROF_EXCLUDES(mutex_);

    capture_stage stage() PROF_EXCLUDES(mutex_);
    // The drain thread of all records that were made until now. If the capture is `beginning`, it is started here.
    // Null: `none`, or it cannot be started. May read a file.
    std::shared_ptr<drain_thread> drain_of_records() PROF_EXCLUDES(mutex_);
    // Null also if the capture is `beginning`.
    std::shared_ptr<drain_thread> drain_if_made() PROF_EXCLUDES(mutex_);
    // As drain_of_records(), to be completed. No other capture is made until the next window.
    std::shared_ptr<drain_thread> take() PROF_EXCLUDES(mutex_);

    // GPU work is recorded by `tracer`. `graphs_notice`: why CUDA graphs are not recorded as the options ask; else "".
    // `lines_notice`: of which Python the lines are not recorded; else "".
    void note_tracer(cupti_tracer& tracer, const std::string& graphs_notice, const std::string& lines_notice)
        PROF_EXCLUDES(mutex_);
    // Why GPU work is not recorded although the process uses CUDA.
    void note_missing(const std::string& problem) PROF_EXCLUDES(mutex_);
    // At the end: whether another tool has the variables by which NVTX and CUDA find libprof.
    void report_taken_variables(drain_thread& drain) PROF_EXCLUDES(mutex_);
    std::string missing() PROF_EXCLUDES(mutex_);

    // Of the latest capture: "" while there is none. Relative where the options are.
    std::string path() PROF_EXCLUDES(mutex_);
    // The program may have changed its directory since the recording began.
    std::string absolute_path() PROF_EXCLUDES(mutex_);
    // The capture is complete.
    void keep_totals(const drain_thread& drain) PROF_EXCLUDES(mutex_);
    void describe(session_status& out, bool is_recording, bool uses_cuda) PROF_EXCLUDES(mutex_);

private:
    capture_stage stage_alone() const PROF_REQUIRES(mutex_);
    bool wants_drain() PROF_EXCLUDES(mutex_);
    std::shared_ptr<drain_thread> make_drain() PROF_EXCLUDES(mutex_);
    std::unique_ptr<capture_writer> make_capture(const session_options& options, const process_facts& facts,
                                                 const property_list& properties, std::uint32_t number)
        PROF_EXCLUDES(mutex_);
    void introduce_tracer() PROF_REQUIRES(mutex_);
    std::string gpu_state(bool is_recording, bool uses_cuda) PROF_REQUIRES(mutex_);

    recording_settings& settings_;
    session_rings& rings_;
    process_exit& exit_;

    session_mutex mutex_ PROF_ACQUIRED_AFTER(lock_order::below_windows_parts)
        PROF_ACQUIRED_BEFORE(lock_order::below_capture);
    std::shared_ptr<drain_thread> drain_ PROF_GUARDED_BY(mutex_);
    format::window_entry window_ PROF_GUARDED_BY(mutex_);     // the latest
    std::uint32_t number_ PROF_GUARDED_BY(mutex_) = 0;        // of the capture among those of the rings
    drop_counts drops_before_ PROF_GUARDED_BY(mutex_){};      // before the capture's first window
    bool accepts_ PROF_GUARDED_BY(mutex_) = false;            // a drain thread may be started
    bool was_refused_ PROF_GUARDED_BY(mutex_) = false;        // note_refusal()
    cupti_tracer* tracer_ PROF_GUARDED_BY(mutex_) = nullptr;  // once it records
    std::string missing_ PROF_GUARDED_BY(mutex_);             // note_missing(); else ""
    std::string graphs_notice_ PROF_GUARDED_BY(mutex_);       // note_tracer()
    std::string lines_notice_ PROF_GUARDED_BY(mutex_);        // likewise
    std::string path_ PROF_GUARDED_BY(mutex_);
    std::string base_ PROF_GUARDED_BY(mutex_);          // in front of it: the directory in which recording began
    collector::totals totals_ PROF_GUARDED_BY(mutex_);  // of the latest capture that is complete
};

// Shuts the gate and reports why nothing is recorded. Allocates nothing: there may be no memory.
void record_nothing(const char* reason) noexcept;

}  // namespace prof
