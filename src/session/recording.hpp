// The session: one per process, wiring the rooms together. Everything that starts, stops or outlives a recording is
// here; nothing of it is on the hot path.
//
// A recording is what lies between start() and stop(): one capture. Within it there are *windows*, in which the gate is
// open and everything is recorded; between them nothing is, and nothing costs anything. start() opens the first one;
// pause() ends it, resume() opens the next. A window that has ended is *settled* by the background thread: it waits for
// the GPU, takes in the window's last records, and detaches from CUPTI.
//
// If the options name a plan (window_plan.hpp), it opens and ends the windows, by the steps and ranges that are
// reported to it.
//
// A forked child has a session of its own, which begins at its first range (forked_child.cpp).
//
// prepare() is called by every way in, as often as they like; the others by the C interface, by autostart, by control
// (control.hpp) and at exit. Two mutexes serialise them. `commands_` is held by start, stop and sync to their end,
// which may be long: for a capture to be completed and exported. `mutex_`, taken after it, holds the state of windows
// and plan: a step, a watched range or CUDA's beginning may wait for it on a thread of the program, so nobody who holds
// it waits for the GPU or for a file, but a plan that opens one window right after another.
#pragma once

#include <array>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>

#include "collect/drain_thread.hpp"
#include "collect/history/graph_history.hpp"
#include "hooks/cupti/tracer.hpp"
#include "hooks/nvtx/watched_ranges.hpp"
#include "options/options.hpp"
#include "plan/slow_steps.hpp"
#include "plan/window_plan.hpp"
#include "session/background.hpp"
#include "session/end_thread.hpp"
#include "session/process.hpp"
#include "session/session_mutex.hpp"
#include "session/session_status.hpp"

namespace prof {

enum class session_result { ok, wrong_state, failed };
enum class requester { program, command };  // whose thread it is: one of the program's, or libprof's for prof ctl

struct heritage;

class recording_session {
public:
    // The process's session; made at the first call, never destroyed (hooks may run until the last instruction). A
    // forked child makes another, which goes on with what the parent's has left for it (forked_child.cpp).
    static recording_session& instance();

    // From pthread_atfork, in the child. Takes no lock and allocates nothing.
    static void in_child() noexcept;
    // In a forked child: makes its region and, if it is to record, begins to. Does nothing from the second call on, and
    // in a process that inherits nothing. Any thread.
    void begin_inherited() noexcept;

    // From the injection points, before the first hook: makes the region, and starts recording if autostart is on.
    void prepare();
    // Before it: what comes to a hook meanwhile waits for it. Any thread.
    void hold_for_preparation() noexcept;
    // From InitializeInjection: the driver is being initialised.
    static void on_cuda_init();

    // `problem` gets one line on failure.
    session_result start(const session_options& options, requester who, std::string& problem);
    // Before that, where the program or a command asks for it: makes the directory for the captures. "" or one line.
    std::string make_place(const session_options& options);
    session_result stop(std::string& problem);

    // Between start() and stop(), also between windows.
    bool recording() const noexcept { return recording_.load(); }

    // These three are for recordings without a plan; with one they are refused (wrong_state).
    // Ends the window; comes back at once. wrong_state if none is open.
    session_result pause(std::string& problem);
    // Opens the next window; waits for the one before to be settled. wrong_state if one is open.
    session_result resume(std::string& problem);
    // Options of a recording that is started without any: the environment's, and what was set since.
    session_options environment_options();
    session_options options();  // of this recording, or of the latest

    // Sets `out` by "name=value", for start(); refuses what this process cannot change any more. Returns "" or one
    // line.
    std::string merge(std::span<const std::string> settings, session_options& out);
    // Sets them for the next recording and, while one runs, for that: those options only that are read at its end.
    // Takes all of them ("name=value") or none.
    session_result set(std::span<const std::string> settings, std::string& problem);
    // The session's part of a status. False if the state could not be had within `patience`.
    bool look(session_status& out, std::chrono::milliseconds patience);

    // Begun in this recording, or the latest.
    std::uint64_t steps() const noexcept { return steps_.load(); }
    // prof_step: the next step begins, and windows with it. False if there is no recording. Any thread.
    bool step();
    // Whether it has been called, in this process.
    static bool program_counts_steps() noexcept { return program_counts.load(); }

    // Has what was recorded until now written as a capture of its own, with exports, while recording goes on: at
    // `path`, or where it is "" beside the capture. Comes back at once, or, if it `waits`, when all is written. `text`
    // gets the path, on failure one line.
    session_result dump(const std::string& path, bool waits, std::string& text);

    // "" while there is none.
    std::string capture_path();
    // The program may be elsewhere than when the recording began.
    std::string absolute_capture_path();
    // Brings what has completed into the capture file. wrong_state if nothing was ever recorded.
    session_result sync(std::string& problem);
    // The same, for a program that is about to end: it waits for nothing that stands still.
    session_result before_exit(std::string& problem);
    // A property of the capture. False where there is none under way, or the disk does not answer.
    bool keep_text(const std::string& key, const std::string& text);

private:
    recording_session();
    friend struct std::default_delete<recording_session>;
    ~recording_session();

    static void at_exit() noexcept;
    void end_with_process() noexcept;
    void end_here() noexcept;
    void complete_at_exit();
    void leave_unfinished(const char* why) noexcept;
    void end_on_another_thread() noexcept;
    void give_up(bool is_interrupted) noexcept;
    const char* what_was_given_up() const noexcept;
    session_result complete(format::end_reason reason, std::string& problem);
    static void on_childs_first_use() noexcept;
    static void on_first_use() noexcept;
    static void begin_to_prepare() noexcept;
    static void await_preparation() noexcept;
    static bool on_watched_range(range_use use, bool begins) noexcept;
    static void on_profiler_call(bool starts) noexcept;

    enum class end_progress : std::uint8_t { none, left_cupti, closed, complete };
    struct ending_state {
        end_progress progress = end_progress::none;
        std::uint64_t cpu_ns = 0;   // of the thread that ends the recording
        std::uint64_t records = 0;  // that the capture has
        bool operator==(const ending_state&) const = default;
    };
    ending_state ending_progress() const noexcept;
    using session_lock = std::unique_lock<session_mutex<std::mutex>>;
    enum class window_state { shut, warming_up, open };
    enum class step_use : std::uint8_t { counted, compared, opens_windows };

    void prepare_for_cuda();
    void make_ready();
    void make_region(const session_options& options);
    // What a child goes on with that is forked from now on. REQUIRES: mutex_ is held.
    void leave_to_children();
    void take_heritage(const heritage& from);
    void begin_as_child();
    void refuse_to_record() noexcept;
    void describe_child(property_list& properties);
    bool names_its_rings();
    void take_names_off_rings() noexcept;
    // While nothing is recorded, ranges and graphs' nodes are heard, if the options say so (recording_idle.cpp).
    // Between two windows the capture's own drain thread listens, else one that has no capture.
    std::uint32_t next_idle_epoch() noexcept;
    void observe_while_idle();
    void observe_idle_graphs();
    void stop_observing();
    void begin_idle_drain();
    bool close_to_stragglers();
    void open_window();
    // `ends_with_step`: the last one is over.
    void close_window(std::uint64_t last_step, bool ends_with_step);
    void settle(const std::shared_ptr<drain_thread>& drain, bool exits);
    void end_window(std::uint64_t last_step, bool ends_with_step, bool completes_capture);
    bool has_cuda() const noexcept;  // CUDA has begun; may wait for the loader
    void begin_warm_up();
    void complete_capture(drain_thread& drain, const session_options& options, std::uint64_t steps);
    void keep_totals(const drain_thread& drain);
    void leave_plan();
    std::string unused_dump_path(const std::string& capture);
    std::string write_dump(drain_thread& drain, const session_options& options, const std::string& path,
                           const std::string& reason);
    void begin_slow_steps();
    void note_slow_step();
    // Whether there was a recording, and its options.
    std::pair<bool, session_options> end_recording(bool exits);
    session_result complete_recording(bool was_recording, const std::shared_ptr<drain_thread>& drain,
                                      const session_options& options, format::end_reason reason, std::string& problem);

    // With a plan. REQUIRES: mutex_ is held.
    void begin_plan();
    void hear(plan_event event);
    void perform(plan_action action, std::uint64_t last_step, bool ends_with_step);
    void listen();
    bool range_counts_steps() const noexcept { return ranges_are_steps_.load(); }
    void count_step();
    // The number of the step that is under way.
    std::uint64_t current_step() const noexcept;
    std::uint64_t step_under_way(std::uint64_t begun) const noexcept;
    std::string refusal(const char* otherwise) const;
    void note_window();
    void begin_drain();
    void make_tracer();
    void leave_before_cuda();
    void attach_tracer(bool cuda_is_new);
    void report_graph_mode(bool cuda_is_new);
    void introduce_tracer();
    void report_taken_variables(drain_thread& drain);
    std::shared_ptr<drain_thread> make_drain();
    std::unique_ptr<capture_writer> make_capture(const session_options& options, const process_facts& facts,
                                                 const property_list& properties);
    void leave_failed_capture();
    std::shared_ptr<drain_thread> draining();
    std::shared_ptr<drain_thread> take_drain();
    std::string export_problem();
    void discard_leftovers();
    session_lock begin_command(bool exits);
    session_lock lock_settled(std::chrono::nanoseconds patience);
    session_result bring_in(session_lock lock, std::string& problem);
    bool await_settled(std::chrono::nanoseconds patience);
    bool await_settled_at_exit();
    session_result leave_to_window();
    bool disk_stands_still();
    bool ends_in_a_hurry() const noexcept;
    void open_next_window();
    void leave_warm_up();
    void report_skipped_windows(drain_thread& drain);
    void note_settling(const std::shared_ptr<drain_thread>& drain);
    void post_exports(const session_options& options);
    void note_export_problem(const std::string& problem);
    recording_state state() const noexcept;
    std::string gpu_state(bool uses_cuda);
    std::string fixed_by_now(std::string_view option) const;

    // Of a disk, or of a thread of ours: at exit it is not waited for any longer.
    static constexpr std::chrono::milliseconds longest_standstill{5000};
    // The same for a thread of the program that opens a window: above the longest pause in which the kernel keeps a
    // thread that writes faster than a disk takes it.
    static constexpr std::chrono::milliseconds longest_wait_for_disk{250};

    session_mutex<std::mutex> preparing_;  // taken before the others
    session_mutex<std::mutex> commands_;
    std::atomic<bool> waits_for_gpu_{false};  // whoever holds commands_
    session_mutex<std::mutex> mutex_;
    session_options environment_;
    environment_facts environment_facts_;
    session_options options_;
    process_facts facts_;
    std::uint32_t epoch_ = 0;       // of the latest window of any recording
    std::uint32_t idle_epoch_ = 0;  // of the latest time in which nothing is recorded and something heard
    window_state window_state_ = window_state::shut;
    std::atomic<bool> recording_{false};
    std::atomic<std::uint64_t> steps_{0};  // begun
    std::unique_ptr<window_plan> plan_;
    std::optional<slow_steps> slow_steps_;  // those that are dumped
    std::atomic<std::uint64_t> windows_passed_over_{0};
    std::uint64_t dumps_left_ = 0;      // for them
    std::uint64_t latest_dump_ns_ = 0;  // for one of them
    std::atomic<std::uint64_t> dump_number_{0};
    std::atomic<step_use> step_use_{step_use::counted};
    std::atomic<bool> ranges_are_steps_{false};  // those of the option step_range
    bool completes_ = false;                     // stop() is not done yet
    std::uint64_t changed_ns_ = 0;               // when the state did, by CLOCK_MONOTONIC
    bool observes_ = false;                      // for cudaProfilerStart and cudaProfilerStop
    std::atomic<std::uint32_t> idle_gate_{0};    // what the gate is on between windows
    std::atomic<bool> prepared_{false};
    static inline std::atomic<bool> cuda_seen{false};
    static inline std::atomic<bool> cuda_is_starting{false};  // before that: a child that is forked now cannot use it
    static inline std::atomic<bool> program_counts{false};    // steps, by prof_step
    bool exit_handler_is_last_ = false;
    std::atomic<bool> process_ends_{false};  // CUPTI's exit handlers may have run
    std::atomic<bool> has_given_up_{false};  // the process ends without waiting for its capture
    std::atomic<end_progress> end_{end_progress::none};
    std::atomic<bool> has_capture_{false};     // the file of the latest is made
    std::atomic<bool> ends_elsewhere_{false};  // on a thread for which the one that exits may be in the way
    tracer_options tracer_options_;            // its sizes go with the region's
    const bool inherits_;                      // in a forked child
    std::atomic<bool> has_begun_{false};       // begin_inherited()
    bool begins_paused_ = false;               // it does not open a window
    bool may_use_gpu_ = true;                  // not where CUDA and CUPTI are a parent's
    bool plan_is_over_ = false;                // it opens no window any more
    bool rings_are_nameless_ = false;          // they vanish with the process
    bool rings_are_counted_ = false;           // among those that children leave when they are killed
    std::string inherited_folder_;             // where the parent's recording began
    std::unique_ptr<const heritage> heritage_;
    std::unique_ptr<const heritage> heritage_before_;  // a fork may have begun before there was a newer one
    region* region_ = nullptr;                         // never unmapped: hooks may be in it until the last instruction
    std::unique_ptr<graph_history> memory_;            // its drain thread's, whichever that is
    std::unique_ptr<cupti_tracer> tracer_;
    std::atomic<bool> has_tracer_{false};  // for who has mutex_ alone, while the background thread may make it
    background_thread background_{"prof-settle"};
    background_thread exporter_{"prof-export"};  // captures completed before the recording's end, and dumps
    end_thread ender_{[]() noexcept { instance().end_here(); }};
    std::shared_ptr<drain_thread> last_drain_;     // of the recording that ends with the process
    std::atomic<bool> disk_is_silent_{false};      // last_drain_ is not waited for
    std::atomic<std::uint64_t> brought_in_ns_{0};  // by before_exit(), at the latest; CLOCK_MONOTONIC

    // What the first record's hook touches when it starts the drain thread, perhaps while another thread holds mutex_.
    // Taken after mutex_ where both are.
    session_mutex<std::mutex> drain_mutex_;
    std::shared_ptr<drain_thread> drain_;
    std::weak_ptr<drain_thread> settling_;  // the one that a window's or the recording's end waits for
    format::window_entry window_;           // the latest
    drop_counts drops_before_{};            // before the capture's first window
    bool accepting_ = false;                // a drain thread may be started
    bool was_refused_ = false;              // there could be none at the first record, and the gate was shut
    std::shared_ptr<drain_thread> idle_drain_;
    bool observing_ = false;            // outside any recording: an idle drain thread may be started
    cupti_tracer* attached_ = nullptr;  // tracer_, once it records
    std::string missing_;               // why GPU work is not recorded although the process uses CUDA; else ""
    std::string graphs_notice_;         // why CUDA graphs are not recorded as the options say; else ""
    std::string capture_path_;
    std::string capture_base_;    // in front of it, for who is elsewhere than the program was when the recording began
    std::string export_problem_;  // the exporter's first
    collector::totals totals_;    // of the latest capture that is complete
};

}  // namespace prof
