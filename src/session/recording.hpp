// The session: one per process, wiring the rooms together. Everything that starts, stops or outlives a recording is
// here; nothing of it is on the hot path.
//
// States: idle (the gate is shut) and recording. prepare() is called by every way in, as often as they like; start()
// and stop() by the C interface, by autostart and at exit. All are serialised by one mutex, which no hook ever takes
// but the one that meets the first record of a recording.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>

#include "collect/drain_thread.hpp"
#include "hooks/cupti/tracer.hpp"
#include "ring/region.hpp"
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

    bool recording() const noexcept;
    // Options as the environment has them.
    const session_options& environment_options() const noexcept { return environment_; }
    const session_options& options() const noexcept { return options_; }

    // 1, 2, … within a recording; 0 if there is none. Any thread.
    std::uint64_t next_step() noexcept { return recording() ? steps_.fetch_add(1) + 1 : 0; }

    // "" while there is none.
    std::string capture_path();
    // Brings what has completed into the capture file. wrong_state if nothing was ever recorded.
    session_result sync(std::string& problem);

private:
    recording_session();

    static void at_exit() noexcept;
    static void in_child() noexcept;
    static void on_first_use() noexcept;

    void make_region(const session_options& options);
    void begin_drain();
    void attach_tracer(bool cuda_is_new);
    void say_how_graphs_are_recorded(bool cuda_is_new);
    void leave_before_cuda();
    void introduce_tracer();
    std::unique_ptr<capture_writer> open_capture();
    std::shared_ptr<drain_thread> draining();
    void discard_leftovers();

    std::mutex mutex_;
    session_options environment_;
    session_options options_;
    process_facts facts_;
    std::uint32_t recording_number_ = 0;
    std::atomic<std::uint64_t> steps_{0};
    std::atomic<bool> prepared_{false};
    bool cuda_seen_ = false;
    bool exit_handler_is_last_ = false;
    region* region_ = nullptr;  // never unmapped: hooks may be in it until the last instruction
    std::unique_ptr<cupti_tracer> tracer_;

    // What the first record's hook touches when it starts the drain thread, perhaps while another thread holds mutex_.
    // Taken after mutex_ where both are.
    std::mutex drain_mutex_;
    std::shared_ptr<drain_thread> drain_;
    bool accepting_ = false;            // a drain thread may be started
    cupti_tracer* attached_ = nullptr;  // tracer_, once it records
    std::string missing_;               // why GPU work is not recorded although the process uses CUDA; else ""
    std::string graphs_notice_;         // why CUDA graphs are not recorded as the options say; else ""
    std::string capture_path_;
};

}  // namespace prof
