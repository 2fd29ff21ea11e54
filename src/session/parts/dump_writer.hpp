// SPDX-License-Identifier: Apache-2.0
// Dumps: copies of what a recording has, made while it goes on (docs/guide/flight-recorder.md), because the program
// asks for one, or because a step was slow. The export thread makes the copy, and what has to be waited for, so a
// thread that asks for a dump does not wait for a file.
//
// Its lock guards the state of slow steps; it is taken after window_control's lock and before the capture's.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "base/outcome.hpp"
#include "collect/drain_thread.hpp"
#include "plan/slow_steps.hpp"
#include "session/parts/capture_in_progress.hpp"
#include "session/parts/export_thread.hpp"
#include "session/parts/recording_settings.hpp"
#include "session/parts/settling_thread.hpp"
#include "session/process/lock_order.hpp"
#include "session/process/session_mutex.hpp"

namespace prof {

class dump_writer {
public:
    dump_writer(recording_settings& settings, capture_in_progress& capture, settling_thread& settling,
                export_thread& exports) noexcept
        : settings_(settings), capture_(capture), settling_(settling), exports_(exports) {}

    // Writes a dump, with exports, at `path`, or beside the capture where that is "". Returns its path: once the dump
    // is posted to the export thread or, if it `waits`, when all is written. Before that it waits until the capture's
    // file exists, which it usually does. Fails if the disk does not answer for five seconds. Any thread.
    result<std::string> dump(const std::shared_ptr<drain_thread>& drain, recording_settings::snapshot options,
                             const std::string& path, bool waits);

    // A recording begins. True if its steps are compared: then slow ones are dumped.
    bool begin() PROF_EXCLUDES(mutex_);
    // Step `ended` has ended, and the next begins. Dumps if it was slow, at most once in a kept period: a dump before
    // has most of what there is. REQUIRES: window_control's lock is held.
    void note_step(std::uint64_t ended) PROF_EXCLUDES(mutex_);
    // No window is open: the step that begins is not measured.
    void skip_step() PROF_EXCLUDES(mutex_);

private:
    std::string unused_path(const std::string& capture);
    outcome write(drain_thread& drain, const session_options& options, const std::string& path,
                  const std::string& reason);
    bool write_of_slow_step(drain_thread& drain, const session_options& options, const std::string& reason);
    void take_back_dump() PROF_EXCLUDES(mutex_);
    // A dump is complete, with its exports, or has failed.
    void note_ended(const std::string& path, const outcome& written);

    recording_settings& settings_;
    capture_in_progress& capture_;
    settling_thread& settling_;
    export_thread& exports_;
    std::atomic<std::uint64_t> number_{0};  // of the latest dump that was named
    std::atomic<std::uint64_t> ended_{0};   // dumps that are complete or have failed

    session_mutex mutex_ PROF_ACQUIRED_AFTER(lock_order::below_windows)
        PROF_ACQUIRED_BEFORE(lock_order::below_windows_parts);
    std::optional<slow_steps> slow_steps_ PROF_GUARDED_BY(mutex_);  // none: steps are not compared
    std::uint64_t left_ PROF_GUARDED_BY(mutex_) = 0;                // dumps of slow steps that may still be made
    std::uint64_t latest_ns_ PROF_GUARDED_BY(mutex_) = 0;           // of such a dump; CLOCK_MONOTONIC; 0: none
};

}  // namespace prof
