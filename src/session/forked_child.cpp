// SPDX-License-Identifier: Apache-2.0
// A forked child. It has copies of its parent's session, threads, locks and file, but it does not use them: it makes a
// session of its own. That begins at the child's first range, or at its first use of CUDA where its parent had not used
// it. A child without either costs nothing and leaves nothing.
//
// The child continues the recording that its parent had at the moment of the fork, in a capture of its own. It has the
// parent's options, except those that depend on the parent's steps. The parent publishes beforehand what the child
// needs for this (heritage.hpp), so that no fork waits for a lock.
#include <atomic>
#include <exception>
#include <memory>

#include "base/cancellation_guard.hpp"
#include "base/helper_thread.hpp"
#include "base/own_memory.hpp"
#include "base/signal_handler.hpp"
#include "hooks/nvtx/nvtx_hooks.hpp"
#include "ring/registry.hpp"
#include "session/control.hpp"
#include "session/process/events.hpp"
#include "session/process/heritage.hpp"
#include "session/recording.hpp"
#include "session/session_callbacks.hpp"

namespace prof {
namespace {

std::atomic<recording_session*> the_session{nullptr};

// In a forked child: for the address sanitizer, which reports memory that no pointer points to.
recording_session* session_of_parent = nullptr;

// The child's first record, or its first name.
void on_first_use_in_child() noexcept {
    // A handler may have interrupted the allocator. The next record comes here again.
    if (is_in_signal_handler()) return parents_region()->count_drop(drop_cause::signal_handler);
    try {
        recording_session::instance().begin_inherited();
    } catch (const std::exception&) {
        set_gate(recording_epoch, 0);  // no memory for a session
    }
}

}  // namespace

recording_session& recording_session::instance() {
    if (recording_session* const known = the_session.load()) return *known;
    auto made = std::unique_ptr<recording_session>(new recording_session);
    recording_session* first = nullptr;
    // Of two threads that are here at once one has made it for nothing. A lock might be held at the moment of a fork.
    return the_session.compare_exchange_strong(first, made.get()) ? *made.release() : *first;
}

void session_callbacks::on_exit() noexcept {
    if (gate_was_wiped()) return;  // a child that in_child() has not seen
    const cancellation_guard guard;
    if (recording_session* const session = the_session.load()) session->exit_.run();
}

void session_callbacks::before_fork() noexcept {
    if (gate_was_wiped()) return;
    const cancellation_guard guard;
    if (recording_session* const session = the_session.load()) session->threads_.rest();
}

void session_callbacks::after_fork() noexcept {
    if (gate_was_wiped()) return;
    if (recording_session* const session = the_session.load()) session->threads_.note_fork();
}

void recording_session::wake_threads() noexcept {
    if (recording_session* const session = the_session.load()) session->threads_.wake();
}

void recording_session::in_child() noexcept {
    const cancellation_guard guard;
    if (gate_was_wiped()) guard_gate();
    forget_helper_threads();
    leave_own_memory_to_parent();
    gpu_session::note_fork();
    abandon_control_in_child();
    forget_events_in_child();
    leave_ranges_to_parent();
    if (recording_session* const parents = the_session.exchange(nullptr)) {
        session_of_parent = parents;
        parents->gpu_.leave_to_parent();
    }
    if (region* const where = installed_region()) watch_ranges({}, *where, nullptr);
    const heritage* const left = published_heritage();
    leave_region_in_child(left != nullptr && left->records && !left->is_paused, on_first_use_in_child);
    inherit(parents_region() == nullptr ? nullptr : left);
}

void recording_session::begin_inherited() noexcept {
    if (!rings_.inherits()) return;
    preparation_.begin_in_child([]() noexcept { instance().begin_as_child(); });
}

void recording_session::begin_as_child() noexcept {
    try {
        if (windows_.begin_in_child()) return;
    } catch (const std::exception&) {
        // No memory for rings, or none for a window.
    }
    windows_.refuse_in_child();
}

}  // namespace prof
