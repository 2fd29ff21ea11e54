// SPDX-License-Identifier: Apache-2.0
// The state of the recording: whether one runs, and its windows and plan (recording_windows.hpp).
//
// Its lock guards all of it. A step, a watched range or CUDA's start may wait for it on a thread of the program. So a
// thread that holds it waits neither for the GPU nor for a file, with one exception: a plan that opens one window right
// after another (recording_windows::open_next).
//
// A command (recording_commands.hpp) takes its own lock first, and this one with mutex() for each part that changes
// state. Functions without REQUIRES take the lock themselves. Any thread.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <memory>
#include <span>
#include <string>

#include "base/outcome.hpp"
#include "collect/drain_thread.hpp"
#include "hooks/nvtx/watched_ranges.hpp"
#include "session/parts/dump_writer.hpp"
#include "session/parts/session_parts.hpp"
#include "session/parts/session_status.hpp"
#include "session/process/heritage.hpp"
#include "session/process/lock_order.hpp"
#include "session/process/session_mutex.hpp"
#include "session/recording_windows.hpp"

namespace prof {

// Whose thread asks: one of the program's, or libprof's for `prof ctl`.
enum class requester : std::uint8_t { program, command, itself };

class window_control {
public:
    // `inherited`: what a forked child has from its parent; else null. `on_range`: calls on_watched_range(). `dumps`
    // outlives this.
    window_control(const session_parts& parts, dump_writer& dumps, const heritage* inherited, range_observer on_range);

    session_mutex& mutex() PROF_RETURN_CAPABILITY(mutex_) { return mutex_; }

    // Between begin() and end(), also between windows. No lock.
    bool is_recording() const noexcept { return is_recording_.load(); }
    step_counter& steps() noexcept { return steps_; }  // no lock

    // A recording begins. wrong_state if one runs already.
    outcome begin(const session_options& options, requester caller) PROF_REQUIRES(mutex_);
    // The number of the window that is open, counted from 1 in this recording; 0: none is.
    std::uint64_t open_window() const noexcept PROF_REQUIRES(mutex_) {
        return windows_.is_open() ? windows_.opened() : 0;
    }
    // It ends: hooks are shut out, and there is no plan. From here on no thread but the caller's touches what the
    // recording leaves. Returns whether there was one. `exits`: the process ends.
    bool end(bool exits) PROF_REQUIRES(mutex_);
    // Its capture and exports are complete.
    void note_completed() PROF_REQUIRES(mutex_);

    // Before the first hook: makes the rings, and observes if no recording begins by itself.
    void prepare() PROF_EXCLUDES(mutex_);
    // In a forked child. False: the child does not record, since its family has too many captures.
    bool begin_in_child() PROF_EXCLUDES(mutex_);
    // The child does not record. Its parent's capture counts it.
    void refuse_in_child() noexcept;
    // CUDA starts in this process. `is_new`: just now.
    void on_cuda(bool is_new) PROF_EXCLUDES(mutex_);

    // PyTorch may have been loaded since.
    void note_torch() PROF_EXCLUDES(mutex_);

    // Whether the state may stay as it is while libprof has no threads (threads_at_fork.hpp).
    bool may_rest() noexcept PROF_EXCLUDES(mutex_);

    // Without a plan; with one they are refused (wrong_state).
    outcome pause() PROF_EXCLUDES(mutex_);
    outcome resume() PROF_EXCLUDES(mutex_);
    // Options (recording_settings::set).
    outcome set(std::span<const std::string> settings) PROF_EXCLUDES(mutex_);
    fixed_settings what_is_fixed() const noexcept;  // no lock

    // A step begins, and windows with it. A thread of the program waits only where steps open windows. Of steps that
    // are compared, one that comes while a command holds the lock is left out.
    void count_step() PROF_EXCLUDES(mutex_);
    // A range_observer: true if a window opened.
    bool on_watched_range(range_use use, bool begins) PROF_EXCLUDES(mutex_);
    // cudaProfilerStart (`starts`) or cudaProfilerStop, inside a callback of CUPTI's. The thread that detaches from
    // CUPTI may wait for the end of that callback, so this waits for a short time only.
    void on_profiler_call(bool starts) PROF_EXCLUDES(mutex_);

    // Takes the lock at a moment when the settling thread has nothing to do: settling may take long, and is waited for
    // without the lock. False, without the lock, if the disk keeps that waiting for longer than `patience`.
    bool lock_settled(std::chrono::nanoseconds patience) PROF_TRY_ACQUIRE(true, mutex_);
    // Adds a property to the capture. False if there is none, or the lock cannot be had within five seconds.
    outcome keep_text(const std::string& key, const std::string& text) PROF_EXCLUDES(mutex_);
    // The drain thread and the options of this recording, at one moment. wrong_state if nothing was recorded yet.
    struct recorded {
        std::shared_ptr<drain_thread> drain;
        recording_settings::snapshot options;
    };
    result<recorded> find_recorded() PROF_EXCLUDES(mutex_);
    // Writes one line in a recording if its plan has opened no window, and what it waits for is not under way. Does not
    // wait for the lock.
    void report_awaited_window() noexcept PROF_EXCLUDES(mutex_);
    // This part of a status. False if the lock cannot be had within `patience`.
    bool describe(session_status& out, std::chrono::milliseconds patience) PROF_EXCLUDES(mutex_);

private:
    void make_rings(const session_options& options) PROF_REQUIRES(mutex_);
    void follow_allocator(const session_options& options) noexcept PROF_REQUIRES(mutex_);
    void follow_allocator() PROF_REQUIRES(mutex_);
    void count_observed_step() PROF_REQUIRES(mutex_);
    // `begun`: how many steps have, with this one.
    void mark_step(std::uint64_t begun) const noexcept;
    recording_state state() const PROF_REQUIRES(mutex_);

    const session_parts parts_;
    dump_writer& dumps_;
    const heritage* const inherited_;
    step_counter steps_;
    std::atomic<bool> is_recording_{false};  // written with the lock, once a child's recording has begun

    session_mutex mutex_ PROF_ACQUIRED_AFTER(lock_order::below_commands)
        PROF_ACQUIRED_BEFORE(lock_order::below_windows);
    recording_windows windows_ PROF_GUARDED_BY(mutex_);
    bool is_awaited_told_ PROF_GUARDED_BY(mutex_) = false;  // report_awaited_window() has nothing left to do
    bool is_completing_ PROF_GUARDED_BY(mutex_) = false;    // end() was called, and note_completed() was not
};

}  // namespace prof
