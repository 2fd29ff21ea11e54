// SPDX-License-Identifier: Apache-2.0
// The thread that makes exports and dumps, so that the program does not wait for them: they take as long as reading and
// writing the capture does. When the program ends it waits for them as long as they make progress.
//
// Its lock is one of the last (lock_order.hpp). Any thread.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <functional>
#include <string>
#include <utility>

#include "base/outcome.hpp"
#include "session/parts/recording_settings.hpp"
#include "session/process/background.hpp"
#include "session/process/session_mutex.hpp"

namespace prof {

class export_thread {
public:
    // Makes the exports of the capture at `path` that the options ask for.
    void post_exports(recording_settings::snapshot options, std::string path);
    // Instead, where the capture is not complete: that failure counts as one of the recording's exports. REQUIRES:
    // !failure.ok().
    void post_failure(outcome failure);
    // Runs on this thread after all earlier tasks (background.hpp).
    void post(std::function<void()> task) { thread_.post(std::move(task)); }

    bool is_idle() { return thread_.is_idle(); }
    bool end() { return thread_.end(); }
    std::uint64_t cpu_ns() const noexcept { return thread_.cpu_ns(); }
    // Returns when all tasks are done; false if the thread makes no progress for as long as `standstill`.
    bool wait_while_it_works(std::chrono::milliseconds standstill) { return thread_.wait_while_it_works(standstill); }

    // The first failure of the recording's exports; ok if there was none.
    outcome first_failure() PROF_EXCLUDES(mutex_);
    void forget_failure() PROF_EXCLUDES(mutex_);

private:
    void note_failure(const outcome& failure) PROF_EXCLUDES(mutex_);

    background_thread thread_{"prof-export"};
    std::atomic<std::uint64_t> ended_{0};  // captures whose exports were made, or not
    session_mutex mutex_;
    outcome first_failure_ PROF_GUARDED_BY(mutex_);
};

}  // namespace prof
