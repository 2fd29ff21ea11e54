// SPDX-License-Identifier: Apache-2.0
#include "session/session_callbacks.hpp"

#include <dlfcn.h>
#include <pthread.h>

#include <atomic>
#include <exception>
#include <new>

#include "base/cancellation_guard.hpp"
#include "base/signal_handler.hpp"
#include "ring/registry.hpp"
#include "session/control.hpp"
#include "session/process/warn_once.hpp"
#include "session/recording.hpp"

namespace prof {

namespace {

bool has_malloc_of_libc() noexcept {
    Dl_info of_malloc{};
    Dl_info of_libc{};
    return dladdr(dlsym(RTLD_DEFAULT, "malloc"), &of_malloc) != 0 &&
           dladdr(dlsym(RTLD_DEFAULT, "gnu_get_libc_version"), &of_libc) != 0 &&
           of_malloc.dli_fbase == of_libc.dli_fbase;
}

bool has_sanitizer() noexcept { return dlsym(RTLD_DEFAULT, "__sanitizer_set_death_callback") != nullptr; }

// Handlers for forks are to be registered at the first record.
std::atomic<bool> watches_forks_late{false};

}  // namespace

// Handlers are called before a fork in the reverse order in which they were registered. At the load: so that libraries
// have ended their own threads before (OpenBLAS does). But not before an allocator other than the C library's, which
// may lock itself until the fork is over: the end of a thread may free memory. And not at all beside a sanitizer, which
// holds such locks in any order.
void session_callbacks::watch_forks() noexcept {
    if (has_sanitizer()) return;
    if (!has_malloc_of_libc()) {
        watches_forks_late = true;
    } else {
        pthread_atfork(before_fork, after_fork, nullptr);
    }
}

void session_callbacks::watch_forks_late() noexcept {
    if (watches_forks_late.exchange(false)) pthread_atfork(before_fork, after_fork, nullptr);
}

void session_callbacks::on_record_at_rest() noexcept { recording_session::wake_threads(); }

first_use_outcome session_callbacks::on_first_use() noexcept {
    // A signal handler may have interrupted the allocator, or what else a capture and its thread need.
    if (is_in_signal_handler()) return first_use_outcome::put_off;
    try {
        recording_session& session = recording_session::instance();
        session.idle_.begin_drain();
        session.capture_.begin();
        if (!session.rings_.inherits()) open_control();
        watch_forks_late();
        return first_use_outcome::begun;
    } catch (const std::bad_alloc&) {
        record_nothing("no memory for a recording");
    } catch (const std::exception& failure) {
        record_nothing(failure.what());
    }
    recording_session::instance().capture_.note_refusal();
    return first_use_outcome::begun;
}

bool session_callbacks::on_watched_range(range_use use, bool begins) noexcept {
    const cancellation_guard guard;
    try {
        recording_session& session = recording_session::instance();
        const bool has_opened = session.windows_.on_watched_range(use, begins);
        session.open_control_of_plan();
        return has_opened;
    } catch (const std::exception& failure) {
        warn_once(failure.what());
    }
    return false;
}

void session_callbacks::on_profiler_call(bool starts) noexcept {
    if (gate_was_wiped()) return;
    const cancellation_guard guard;
    try {
        recording_session::instance().windows_.on_profiler_call(starts);
    } catch (const std::exception& failure) {
        warn_once(failure.what());
    }
}

void session_callbacks::await_preparation() noexcept {
    // As in on_first_use(): what this handler makes is not recorded.
    if (is_in_signal_handler()) return;
    try {
        recording_session::instance().prepare();
    } catch (const std::exception&) {
        // Reported by the thread that came first; nothing is recorded.
    }
}

void session_callbacks::end_here() noexcept { recording_session::instance().exit_.end_here(); }

void session_callbacks::complete_at_exit() { recording_session::instance().commands_.complete_at_exit(); }

}  // namespace prof
