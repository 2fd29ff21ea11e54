// The session: one per process, wiring the rooms together. Everything that starts, stops or outlives a recording is
// here; nothing of it is on the hot path.
//
// A recording is what lies between start() and stop(): one capture. Within it there are *windows*, in which the gate is
// open and everything is recorded; between them nothing is, and nothing costs anything. start() opens the first one;
// pause() ends it, resume() opens the next. A window that has ended is *settled* by the background thread: it waits for
// the GPU, takes in the window's last records, and lets go of CUPTI.
//
// If the options name a plan (capture_plan.hpp), it opens and ends the windows, by the steps and ranges that it is told
// of.
//
// prepare() is called by every way in, as often as they like; the others by the C interface, by autostart and at exit.
// All are serialised by one mutex, which no hook ever takes but the one that meets the first record of a recording.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>

#include "collect/drain_thread.hpp"
#include "hooks/cupti/tracer.hpp"
#include "hooks/nvtx/watched_ranges.hpp"
#include "session/background.hpp"
#include "session/capture_plan.hpp"
#include "session/options.hpp"
#include "session/process.hpp"

namespace prof {

enum class session_result { ok, wrong_state, failed };

// In a forked child there is no session: it let go of its parent's.
bool in_forked_child() noexcept;

class recording_session {
public:
    // The process's session; made at the first call, never destroyed (hooks may run until the last instruction).
    static recording_session& instance();

    // From the injection points, before the first hook: makes the region, and starts recording if autostart is on.
    void prepare();
    // From InitializeInjection: the driver is being initialised.
    void cuda_is_coming();

    // `problem` gets one line on failure.
    session_result start(const session_options& options, std::string& problem);
    session_result stop(format::end_reason reason, std::string& problem);

    // Between start() and stop(), also between windows.
    bool recording() const noexcept { return recording_.load(); }

    // These three are for recordings without a plan; with one they are refused (wrong_state).
    // Ends the window; comes back at once. wrong_state if none is open.
    session_result pause(std::string& problem);
    // Opens the next window; waits for the one before to be settled. wrong_state if one is open.
    session_result resume(std::string& problem);
    // Options as the environment has them.
    const session_options& environment_options() const noexcept { return environment_; }
    const session_options& options() const noexcept { return options_; }

    // prof_step: the next step begins, and windows with it. False if there is no recording. Any thread.
    bool step();

    // "" while there is none.
    std::string capture_path();
    // Brings what has completed into the capture file. wrong_state if nothing was ever recorded.
    session_result sync(std::string& problem);

private:
    recording_session();

    static void at_exit() noexcept;
    static void in_child() noexcept;
    static void on_first_use() noexcept;
    static bool on_watched_range(range_use use, bool begins) noexcept;
    static void on_profiler_call(bool starts) noexcept;

    enum class window_state { shut, warming_up, open };

    void make_region(const session_options& options);
    void open_window();
    // `ends_with_step`: the last one is over.
    void close_window(std::uint64_t last_step, bool ends_with_step);
    void settle(const std::shared_ptr<drain_thread>& drain, bool exits);
    void end_window(std::uint64_t last_step, bool ends_with_step, bool completes_capture);
    void begin_warm_up();
    void complete_capture(drain_thread& drain, const std::string& path, std::uint64_t steps);
    void leave_plan();

    // With a plan. REQUIRES: mutex_ is held.
    void begin_plan();
    void hear(plan_event event);
    void perform(plan_action action, std::uint64_t last_step, bool ends_with_step);
    void listen();
    bool range_counts_steps() const noexcept { return !options_.step_range.empty(); }
    // The number of the step that is under way.
    std::uint64_t current_step() const noexcept;
    std::string refusal(const char* otherwise) const;
    void note_window();
    void begin_drain();
    void make_tracer();
    void attach_tracer(bool cuda_is_new);
    void say_how_graphs_are_recorded(bool cuda_is_new);
    void leave_before_cuda();
    void introduce_tracer();
    std::unique_ptr<capture_writer> open_capture(const property_list& properties);
    std::shared_ptr<drain_thread> draining();
    std::shared_ptr<drain_thread> take_drain();
    std::string export_problem();
    void discard_leftovers();

    std::timed_mutex mutex_;
    session_options environment_;
    session_options options_;
    process_facts facts_;
    std::uint32_t epoch_ = 0;  // of the latest window of any recording
    window_state window_state_ = window_state::shut;
    std::atomic<bool> recording_{false};
    std::atomic<std::uint64_t> steps_{0};  // begun
    std::unique_ptr<capture_plan> plan_;
    std::atomic<bool> hears_steps_{false};  // a step is more than a number
    bool listens_ = false;                  // for cudaProfilerStart and cudaProfilerStop
    std::uint32_t idle_gate_ = 0;           // what the gate is on between windows
    std::atomic<bool> prepared_{false};
    bool cuda_seen_ = false;
    bool exit_handler_is_last_ = false;
    tracer_options tracer_options_;  // its sizes go with the region's
    region* region_ = nullptr;       // never unmapped: hooks may be in it until the last instruction
    std::unique_ptr<cupti_tracer> tracer_;
    background_thread background_{"prof-settle"};
    background_thread exporter_{"prof-export"};  // captures that were completed before the recording's end

    // What the first record's hook touches when it starts the drain thread, perhaps while another thread holds mutex_.
    // Taken after mutex_ where both are.
    std::mutex drain_mutex_;
    std::shared_ptr<drain_thread> drain_;
    format::window_entry window_;       // the latest
    drop_counts drops_before_{};        // before the capture's first window
    bool accepting_ = false;            // a drain thread may be started
    cupti_tracer* attached_ = nullptr;  // tracer_, once it records
    std::string missing_;               // why GPU work is not recorded although the process uses CUDA; else ""
    std::string graphs_notice_;         // why CUDA graphs are not recorded as the options say; else ""
    std::string capture_path_;
    std::string export_problem_;  // the exporter's first
};

}  // namespace prof
