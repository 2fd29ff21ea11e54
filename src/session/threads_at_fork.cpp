// SPDX-License-Identifier: Apache-2.0
#include "session/threads_at_fork.hpp"

#include <chrono>
#include <exception>
#include <memory>

#include "base/error.hpp"
#include "base/helper_thread.hpp"
#include "base/own_memory.hpp"
#include "base/signal_handler.hpp"
#include "ring/registry.hpp"
#include "session/control.hpp"
#include "session/process/end_thread.hpp"

namespace prof {
namespace {

constexpr std::chrono::milliseconds longest_wait_for_disk_at_fork{50};

}  // namespace

void threads_at_fork::rest() noexcept {
    if (rest_ || session_mutexes_held != 0 || parts_.exit.has_begun()) return;
    if (is_in_signal_handler() || !has_one_thread_of_the_program()) return;
    takes_own_memory = true;  // an allocator may have locked itself
    try {
        rest_ = try_to_rest();
    } catch (const std::exception&) {
        // No memory. The threads that have ended are made again.
        rest_ = true;
        wake();
    }
    takes_own_memory = false;
    if (rest_) await_end_of_helper_threads();
}

// From here on no thread but this one does anything.
bool threads_at_fork::try_to_rest() {
    if (!windows_.may_rest() || !rest_control()) return false;
    // A window that has just ended may still be taken in.
    if (parts_.settling.wait_until_idle(longest_wait_for_disk_at_fork) && parts_.exports.is_idle()) {
        const std::shared_ptr<drain_thread> drain = parts_.capture.drain_if_made();
        if (drain == nullptr || drain->rest_thread(longest_wait_for_disk_at_fork)) {
            (void)parts_.settling.end();
            (void)parts_.exports.end();
            parts_.exit.rest(drain != nullptr);
            return true;
        }
    }
    wake_control();
    return false;
}

void threads_at_fork::note_fork() const noexcept {
    if (rest_) begin_rest(on_record_);
}

void threads_at_fork::wake() noexcept {
    if (!rest_ || is_in_signal_handler()) return;
    const session_lock lock(mutex_);
    if (!rest_) return;
    try {
        const std::shared_ptr<drain_thread> drain = parts_.capture.drain_if_made();
        if (drain != nullptr) {
            parts_.exit.start_thread();
            if (!drain->resume()) throw error("no drain thread after a fork");
        }
        wake_control();
    } catch (const std::exception& failure) {
        record_nothing(failure.what());
    }
    parts_.exit.note_awake();
    rest_ = false;
    end_rest();
}

}  // namespace prof
