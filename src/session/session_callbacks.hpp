// SPDX-License-Identifier: Apache-2.0
// Functions of the session that hooks, exit handlers and threads call by a plain function pointer. Each gets the
// process's session first, since a forked child has another one.
#pragma once

#include "hooks/nvtx/watched_ranges.hpp"
#include "ring/registry.hpp"

namespace prof {

struct session_callbacks {
    // At the first record after install_region(), on the thread that made it.
    static first_use_outcome on_first_use() noexcept;
    // A range_observer.
    static bool on_watched_range(range_use use, bool begins) noexcept;
    // cudaProfilerStart or cudaProfilerStop, inside a callback of CUPTI's.
    static void on_profiler_call(bool starts) noexcept;
    // On a thread that enters a hook while another one prepares the session.
    static void await_preparation() noexcept;

    // A record is made while libprof's threads rest.
    static void on_record_at_rest() noexcept;

    // From pthread_atfork, in the parent.
    static void before_fork() noexcept;
    static void after_fork() noexcept;
    // When libprof is loaded: registers these two, now or at the first record.
    static void watch_forks() noexcept;

    // An exit handler.
    static void on_exit() noexcept;
    // process_exit::end_here(), for the end thread.
    static void end_here() noexcept;
    // Throws.
    static void complete_at_exit();

private:
    static void watch_forks_late() noexcept;
};

}  // namespace prof
