// SPDX-License-Identifier: Apache-2.0
// Prepares the session once, on the first thread that calls run(). In a forked child, begins its recording once.
//
// A second thread that calls run() meanwhile waits; otherwise its first ranges would find the gate shut. It waits five
// seconds at most, since the preparing thread may need a lock that the second one holds (inside CUDA's start-up). A
// call from inside the preparation, as CUDA's start-up may make, returns at once. Any thread. The lock is taken before
// all others.
#pragma once

#include <atomic>

#include "session/process/lock_order.hpp"
#include "session/process/session_mutex.hpp"

namespace prof {

class preparation {
public:
    // `is_done`: in a forked child, which is prepared by its parent. `await`: called on a thread that has a record or a
    // name during the preparation (begin_preparation() in ring/registry.hpp).
    preparation(bool is_done, void (*await)() noexcept) noexcept : await_(await), is_prepared_(is_done) {}

    // From now on a thread that enters a hook waits until the session is prepared.
    void hold_hooks() noexcept;
    // Calls `prepare`, unless the session is prepared. An exception of `prepare` is passed on; then a later call tries
    // again.
    void run(void (*prepare)()) PROF_EXCLUDES(mutex_);
    // Calls `begin` for a forked child's recording, unless that has begun.
    void begin_in_child(void (*begin)() noexcept) noexcept PROF_EXCLUDES(mutex_);

private:
    void (*const await_)() noexcept;
    std::atomic<bool> is_prepared_;
    std::atomic<bool> has_begun_in_child_{false};
    session_mutex mutex_ PROF_ACQUIRED_BEFORE(lock_order::below_preparation);
};

}  // namespace prof
