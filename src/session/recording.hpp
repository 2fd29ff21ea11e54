// SPDX-License-Identifier: Apache-2.0
// The session: one per process. It connects the hooks, the drain thread, the options and the plan. Everything that
// starts, stops or outlives a recording is in this room; none of it is on the hot path.
//
// A *recording* lasts from start() to stop(). Within it there are *windows*. While a window is open the gate is open,
// and everything is recorded. Between two windows nothing is recorded, and hooks cost what they cost without a
// recording. start() opens the first window, pause() ends it, and resume() opens the next one. If the options name a
// plan (window_plan.hpp), the plan opens and ends the windows instead, by steps and ranges. The windows of a recording
// are in one capture, or in one each (option export_each).
//
// A window that has ended is *settled*, once, by the settling thread: it waits for the GPU, brings the window's last
// records into the capture, and detaches from CUPTI. The next window opens after that. stop() waits for it, too.
//
// This class is the interface for the C functions, for control and for the ways in. What it does is in its parts, each
// with the fields that one lock guards, or that one thread uses:
//
//   preparation            the session is prepared once
//   recording_commands     start, stop and sync, each to its end
//   window_control         the state of the recording: its windows and its plan (recording_windows, step_counter)
//   dump_writer            dumps, because of a slow step or on demand
//   idle_observer          what is observed while nothing is recorded
//   gpu_session            CUDA and CUPTI
//   settling_thread        windows that have ended
//   capture_in_progress    the capture and its drain thread, made at the first record
//   export_thread          exports and dumps
//   session_rings          the memory that hooks write to
//   threads_at_fork        libprof's threads rest while a program of one thread forks
//   recording_settings     options and facts about the process
//   process_exit           the end of the process
//
// A part has references to parts below it only. lock_order.hpp has the order of their locks.
//
// A forked child has a session of its own, which begins at its first range (forked_child.cpp).
#pragma once

#include <chrono>
#include <memory>
#include <span>
#include <string>

#include "base/outcome.hpp"
#include "session/preparation.hpp"
#include "session/recording_commands.hpp"
#include "session/threads_at_fork.hpp"

namespace prof {

class recording_session {
public:
    // The process's session; made at the first call, never destroyed (hooks may run until the last instruction). A
    // forked child makes another, which goes on with what the parent's has left for it. Any thread.
    static recording_session& instance();

    // From pthread_atfork, in the child. Takes no lock and allocates nothing.
    static void in_child() noexcept;
    // In a forked child: makes its rings and, if it is to record, begins to. Does nothing from the second call on, and
    // in a process that inherits nothing. Any thread.
    void begin_inherited() noexcept;

    // From the injection points, before the first hook: makes the rings, and starts a recording if autostart is on. Any
    // thread, any number of times.
    void prepare();
    // Before prepare(): a thread that comes to a hook meanwhile waits for it. Any thread.
    void hold_hooks() noexcept { preparation_.hold_hooks(); }
    // From InitializeInjection: the driver is being initialised.
    static void on_cuda_init();
    // PyTorch was imported. Any thread.
    static void note_torch() noexcept;

    // Before a call that needs libprof's threads: makes them again, if they rest since a fork. Any thread.
    static void wake_threads() noexcept;

    // Before start(), on behalf of the program or of a command: makes the directory for the captures.
    outcome prepare_directory(const session_options& options);
    outcome start(const session_options& options, requester caller) { return commands_.start(options, caller); }
    // Whether start() by the program would be refused.
    bool refuses_start() const noexcept { return recording() && !commands_.runs_by_itself(); }
    // From now on a recording begins by itself: at the first range or use of CUDA or, if that was before, now.
    void begin_by_itself();
    outcome stop() { return commands_.stop(); }
    // Between start() and stop(), also between windows.
    bool recording() const noexcept { return windows_.is_recording(); }

    // These two are for recordings without a plan; with one they are refused (wrong_state).
    // Ends the window; returns at once. wrong_state if none is open.
    outcome pause() { return windows_.pause(); }
    // Opens the next window; waits for the one before to be settled. wrong_state if one is open.
    outcome resume() { return windows_.resume(); }
    // Nothing is recorded before a plan's first window, but a user may ask what it waits for.
    void open_control_of_plan() noexcept;
    // Writes a line if the plan has opened no window for long. Does not wait.
    void report_awaited_window() noexcept { windows_.report_awaited_window(); }
    // The next step begins, by prof_step, and windows with it. False if there is no recording. Any thread.
    bool step();
    // Begun in this recording, or the latest.
    std::uint64_t steps() noexcept { return windows_.steps().begun(); }

    // Options of a recording that is started without any: the environment's, and what was set since.
    session_options environment_options() { return *settings_.environment(); }
    // Of this recording, or of the latest.
    session_options options() { return *settings_.options(); }
    // Sets `out` by "name=value", for start(); refuses what this process cannot change any more.
    outcome merge(std::span<const std::string> settings, session_options& out);
    // Sets them for the next recording and, while one runs, for that: only options that are read at its end. Takes all
    // of them or none.
    outcome set(std::span<const std::string> settings) { return windows_.set(settings); }

    // The session's part of a status. False if the state could not be had within `patience`.
    bool describe(session_status& out, std::chrono::milliseconds patience) { return windows_.describe(out, patience); }
    // "" while there is none.
    std::string capture_path() { return capture_.path(); }
    // The program may have changed its directory since the recording began.
    std::string absolute_capture_path() { return capture_.absolute_path(); }

    // Brings what has completed into the capture file. wrong_state if nothing was ever recorded.
    outcome sync() { return commands_.sync(); }
    // The same for a program that is about to end: it waits for nothing that stands still.
    outcome before_exit() { return commands_.sync_before_exit(); }
    // Writes what was recorded until now as a capture of its own, with exports, while recording goes on: at `path`, or
    // beside the capture where it is "". Returns the path: at once, or, if it `waits`, when all is written.
    result<std::string> dump(const std::string& path, bool waits);
    // Adds a text of the program's to the capture. wrong_state if there is none under way.
    outcome keep_text(const std::string& key, const std::string& text) { return windows_.keep_text(key, text); }

private:
    // Functions that hooks, exit handlers and threads call, for the process's session.
    friend struct session_callbacks;
    friend struct std::default_delete<recording_session>;

    recording_session();
    ~recording_session();
    void make_ready();
    void start_by_itself(const session_options& options);
    void prepare_for_cuda();
    void begin_as_child() noexcept;

    recording_settings settings_;
    process_exit exit_;
    session_rings rings_;
    capture_in_progress capture_;
    gpu_session gpu_;
    idle_observer idle_;
    settling_thread settling_;
    export_thread exports_;
    dump_writer dumps_;
    const session_parts parts_{settings_, exit_, rings_, capture_, gpu_, idle_, settling_, exports_};
    window_control windows_;
    recording_commands commands_;
    threads_at_fork threads_;
    preparation preparation_;
};

}  // namespace prof
