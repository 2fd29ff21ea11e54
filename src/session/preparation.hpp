// The session is prepared once, by the thread that comes first; in a forked child its recording begins once.
//
// A thread that comes while another is at it waits, or its first ranges would find the gate shut. It waits five seconds
// at most: the thread that prepares may wait for a lock that this one holds, as inside CUDA's start-up. A call from
// inside the preparation, as CUDA's start-up may make, does not wait. Any thread. The lock is taken before all others.
#pragma once

#include <atomic>

#include "session/lock_order.hpp"
#include "session/session_mutex.hpp"

namespace prof {

class preparation {
public:
    // `is_done`: in a forked child, which is prepared by its parent. `await`: runs the preparation, for a thread that
    // comes with a record or a name meanwhile (begin_preparation() in ring/registry.hpp).
    preparation(bool is_done, void (*await)() noexcept) noexcept : await_(await), is_prepared_(is_done) {}

    // Until the session is prepared, threads that come to a hook wait from now on.
    void hold_hooks() noexcept;
    // Prepares the session by `prepare`, unless that is done. What it throws is thrown here: then a later call tries
    // again.
    void run(void (*prepare)()) PROF_EXCLUDES(mutex_);
    // Begins a forked child's recording by `begin`, unless that is done.
    void begin_in_child(void (*begin)() noexcept) noexcept PROF_EXCLUDES(mutex_);

private:
    void (*const await_)() noexcept;
    std::atomic<bool> is_prepared_;
    std::atomic<bool> has_begun_in_child_{false};
    session_mutex mutex_ PROF_ACQUIRED_BEFORE(lock_order::below_preparation);
};

}  // namespace prof
