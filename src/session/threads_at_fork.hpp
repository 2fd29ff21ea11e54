// SPDX-License-Identifier: Apache-2.0
// libprof's own threads rest while a program of one thread forks. Such a program may fork without care; Python counts
// the threads of a process that has forked, and warns if there is more than one. So the threads are ended before the
// fork, with all that was recorded until then in the capture, and made again by the next record or call of libprof's.
//
// Not where the fork might have to wait, or where something is lost meanwhile: in a program with other threads, inside
// libprof or a signal's handler, with a plan, with CUPTI, while a disk does not answer, an export is made, or control
// was asked for. Where the threads rest, `prof ctl` waits for them.
//
// Cost of a fork: a system call in a program with other threads, else the time to end three threads (some 100 us).
#pragma once

#include <atomic>

#include "session/parts/session_parts.hpp"
#include "session/process/lock_order.hpp"
#include "session/process/session_mutex.hpp"
#include "session/window_control.hpp"

namespace prof {

class threads_at_fork {
public:
    // `windows` outlives this. `on_record`: calls wake().
    threads_at_fork(const session_parts& parts, window_control& windows, void (*on_record)() noexcept) noexcept
        : parts_(parts), windows_(windows), on_record_(on_record) {}

    // From pthread_atfork, in the parent: before the fork, and after it.
    void rest() noexcept;
    void note_fork() const noexcept;
    // Makes the threads again, if they rest. Does nothing in a signal's handler. Any thread.
    void wake() noexcept PROF_EXCLUDES(mutex_);

private:
    bool try_to_rest();

    const session_parts parts_;
    window_control& windows_;
    void (*const on_record_)() noexcept;
    std::atomic<bool> rest_{false};
    session_mutex mutex_ PROF_ACQUIRED_AFTER(lock_order::below_windows)
        PROF_ACQUIRED_BEFORE(lock_order::below_windows_parts);
};

}  // namespace prof
