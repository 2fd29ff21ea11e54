// SPDX-License-Identifier: Apache-2.0
// The session's use of CUPTI: whether CUDA is in the process, and when to attach to CUPTI and detach from it.
//
// One thread at a time uses CUPTI. No lock ensures that, since a thread that uses CUPTI may wait for the GPU, and the
// program's threads must not wait for such a thread. Instead each function marked "one user" checks it: if another
// thread is in one of them, it does nothing, and one line on stderr says so. It is called
//   - on the settling thread (settling_thread.hpp), for a window that has ended, or
//   - with window_control's lock held, while the settling thread is idle or a window is open, or
//   - when the recording is completed, after the settling thread is done.
// Other functions are for any thread.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <string>

#include "base/outcome.hpp"
#include "collect/drain_thread.hpp"
#include "hooks/cupti/tracer.hpp"
#include "options/options.hpp"
#include "session/parts/capture_in_progress.hpp"
#include "session/parts/process_exit.hpp"
#include "session/parts/recording_settings.hpp"
#include "session/parts/session_rings.hpp"

namespace prof {

class gpu_session {
public:
    using profiler_observer = void (*)(bool starts) noexcept;

    // `may_use_gpu`: CUDA and CUPTI are not a parent's. `observer`: called for cudaProfilerStart and cudaProfilerStop.
    gpu_session(recording_settings& settings, session_rings& rings, process_exit& exit, capture_in_progress& capture,
                bool may_use_gpu, profiler_observer observer) noexcept;

    // CUDA is about to start: a child that is forked from now on cannot use it.
    static void note_cuda_starts() noexcept { cuda_is_starting = true; }
    // CUDA has started. False: it had already.
    static bool note_cuda() noexcept { return !cuda_seen.exchange(true); }

    bool may_use_gpu() const noexcept { return may_use_gpu_; }
    // Whether CUDA has started. May wait for the loader.
    bool has_cuda() const noexcept;
    // A libcupti is loaded.
    bool has_tracer() const noexcept { return has_tracer_.load(); }
    // The sizes of CUPTI's buffers. To be set before CUPTI is used.
    tracer_options& sizes() noexcept { return sizes_; }

    // One user, each of them:
    // Records GPU work from now on. `cuda_is_new`: CUDA is just starting, so the program has done nothing with it yet.
    void attach(std::uint32_t epoch, bool cuda_is_new);
    // Calls the observer from now on, until settle().
    void observe_profiler_calls();
    // Records graphs' nodes while nothing else is recorded (option idle_graph_nodes).
    outcome observe_graphs();
    // No GPU work that is launched from now on is recorded.
    void stop_recording() noexcept;
    // A recording begins that does not observe graphs, unlike the one before.
    void stop_observing() noexcept;
    // A window has ended: takes in its last records, with `drain` if that is not null, and detaches. `exits`: the
    // process ends. As long as the GPU and the disk take; at exit five seconds.
    void settle(const std::shared_ptr<drain_thread>& drain, bool exits);

    // In a forked child, from pthread_atfork, of the parent's session: CUPTI stays the parent's. Takes no lock.
    void leave_to_parent() const noexcept;
    // The same where the parent has no session.
    static void note_fork() noexcept;
    // False in a child of a process in which CUDA was started, or about to be.
    static bool has_gpu_of_its_own() noexcept { return !cuda_is_parents; }

private:
    class sole_use;
    // Opens libcupti, if that was not done before. False: the process is about to end, and CUPTI must not be called.
    bool make_tracer(const session_options& options);
    void put_handler_first() noexcept;
    std::string graphs_notice(const session_options& options, bool cuda_is_new) const;

    recording_settings& settings_;
    session_rings& rings_;
    process_exit& exit_;
    capture_in_progress& capture_;
    const bool may_use_gpu_;
    const profiler_observer observer_;
    tracer_options sizes_;
    std::unique_ptr<cupti_tracer> tracer_;  // one user
    std::string lines_notice_;              // why Python's lines are not recorded; else ""
    std::atomic<bool> has_tracer_{false};   // for other threads, while the settling thread may make it
    bool handler_is_first_ = false;         // one user
    std::atomic<bool> is_in_use_{false};    // a thread is the one user
    static inline std::atomic<bool> cuda_seen{false};
    static inline std::atomic<bool> cuda_is_starting{false};
    static inline bool cuda_is_parents = false;  // written in pthread_atfork's handler only
};

}  // namespace prof
