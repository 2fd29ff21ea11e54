// SPDX-License-Identifier: Apache-2.0
// What is observed while nothing is recorded, before a recording and between windows: ranges that are watched, and,
// with the option idle_graph_nodes, the nodes of CUDA graphs.
//
// Between two windows of one capture, the capture's own drain thread reads the records of graphs. Where there is no
// capture, a drain thread without a file does: it starts at the first record, and ends before a capture begins. Its
// lock guards that thread; it is taken after window_control's lock, and never together with the capture's.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>

#include "collect/drain_thread.hpp"
#include "session/parts/gpu_session.hpp"
#include "session/parts/process_exit.hpp"
#include "session/parts/recording_settings.hpp"
#include "session/parts/session_rings.hpp"
#include "session/process/lock_order.hpp"
#include "session/process/session_mutex.hpp"

namespace prof {

class idle_observer {
public:
    idle_observer(recording_settings& settings, session_rings& rings, process_exit& exit, gpu_session& gpu) noexcept
        : settings_(settings), rings_(rings), exit_(exit), gpu_(gpu) {}

    // What the gate shows between windows where graphs are not observed: 0, or watching_epoch if ranges are watched.
    std::uint32_t gate() const noexcept { return gate_.load(); }
    void set_gate_between_windows(std::uint32_t gate) noexcept { gate_ = gate; }
    // What the gate shows from now on, while nothing is recorded.
    std::uint32_t next_epoch();

    // From now on no capture is drained to. Does nothing without idle_graph_nodes. CUPTI's one user (gpu_session.hpp).
    void begin() PROF_EXCLUDES(mutex_);
    // The same for graphs alone: rings and gate stay as they are.
    void observe_graphs();
    // At the first record: starts the drain thread, if there is to be one.
    void begin_drain() PROF_EXCLUDES(mutex_);
    // Returns when the last records of this time are read. REQUIRES: window_control's lock is held.
    void stop() PROF_EXCLUDES(mutex_);

private:
    recording_settings& settings_;
    session_rings& rings_;
    process_exit& exit_;
    gpu_session& gpu_;

    std::atomic<std::uint32_t> gate_{0};
    std::atomic<std::uint32_t> epochs_{0};  // times in which nothing was recorded and graphs were observed

    session_mutex mutex_ PROF_ACQUIRED_AFTER(lock_order::below_windows)
        PROF_ACQUIRED_BEFORE(lock_order::below_windows_parts);
    bool observes_ PROF_GUARDED_BY(mutex_) = false;  // a drain thread may be started
    std::shared_ptr<drain_thread> drain_ PROF_GUARDED_BY(mutex_);
};

}  // namespace prof
