// SPDX-License-Identifier: Apache-2.0
#include "session/parts/process_exit.hpp"

#include <chrono>
#include <cstdlib>
#include <ctime>
#include <exception>
#include <new>
#include <utility>

#include "base/cancellation_guard.hpp"
#include "base/clock.hpp"
#include "base/signal_handler.hpp"
#include "hooks/cupti/tracer.hpp"
#include "session/process/events.hpp"
#include "session/process/patience.hpp"
#include "session/process/session_mutex.hpp"
#include "session/process/warn_once.hpp"

namespace prof {
namespace {

constexpr timespec between_checks_of_progress{0, 200'000};

}  // namespace

void process_exit::register_handler() noexcept { std::atexit(functions_.on_exit); }

// A signal's handler may exit on a thread that is inside the session, or in the middle of a call to CUDA or to the
// allocator, and another thread may be in prof_stop and wait for a GPU that does not end.
void process_exit::run() noexcept {
    const cancellation_guard guard;
    has_begun_ = true;
    if (has_given_up_) return;
    progress_ = progress::none;
    const bool is_interrupted = is_in_signal_handler();
    close_events(is_interrupted);
    if (session_mutexes_held == 0) {
        if (!is_interrupted && !cupti_tracer::is_in_call()) {
            end_here();
            if (progress_ == progress::complete && !has_given_up_ && !is_in_a_hurry()) end_thread_.end();
        } else if (end_thread_.is_there()) {
            end_on_end_thread();
        } else if (!rests_) {  // nothing is recorded
            functions_.leave_control();
            progress_ = progress::complete;
        }
    }
    if (progress_ != progress::complete) give_up(is_interrupted);
}

void process_exit::end_here() noexcept {
    try {
        functions_.complete();
    } catch (const std::bad_alloc&) {
        leave_unfinished(has_capture_ ? "no memory: the capture has no end; prof seal puts into it what was kept"
                                      : "no memory: there is no capture, all of it is lost");
    } catch (const std::exception& failure) {
        leave_unfinished(failure.what());
    }
}

// The next exit handler of libprof's may run after CUPTI's own: it must not begin again.
void process_exit::leave_unfinished(const char* reason) noexcept {
    has_given_up_ = true;
    cupti_tracer::abandon();
    warn_once(reason, PROF_LOG_ERROR);
    progress_ = progress::complete;  // as far as it goes
}

void process_exit::note_left_cupti(std::shared_ptr<drain_thread> drain) noexcept {
    if (drain != nullptr) last_drain_ = std::move(drain);  // its thread may outlive the end of the capture
    progress_ = progress::left_cupti;
}

void process_exit::note_complete() noexcept {
    if (!has_given_up_) progress_ = progress::complete;
}

void process_exit::note_synced() noexcept { synced_ns_ = clock_ns(CLOCK_MONOTONIC); }

bool process_exit::is_in_a_hurry() const noexcept {
    const std::uint64_t since = synced_ns_.load();
    const auto age = std::chrono::nanoseconds(clock_ns(CLOCK_MONOTONIC) - since);
    return since != 0 && age < longest_standstill && !is_on_end_thread_;
}

// Waits for CUPTI for five seconds, and for everything else as long as it makes progress: the thread that exits may
// hold what others need, CUDA's locks or the allocator's. Takes no lock and allocates nothing: others may wait for this
// thread.
void process_exit::end_on_end_thread() noexcept {
    is_on_end_thread_ = true;
    end_thread_.ask();
    progress_state latest;
    std::uint64_t since = clock_ns(CLOCK_MONOTONIC);
    while (progress_ != progress::complete) {
        const std::uint64_t now = clock_ns(CLOCK_MONOTONIC);
        if (const progress_state state = current_progress(); state != latest) {
            latest = state;
            since = now;
        } else if (std::chrono::nanoseconds(now - since) > longest_standstill) {
            return;
        }
        (void)nanosleep(&between_checks_of_progress, nullptr);
    }
}

// What changes as long as the completion makes progress.
process_exit::progress_state process_exit::current_progress() const noexcept {
    progress_state state{.reached = progress_};
    if (state.reached == progress::none) return state;
    state.cpu_ns = end_thread_.cpu_ns();
    if (state.reached == progress::left_cupti && last_drain_ != nullptr) {
        state.records = last_drain_->so_far().records;
    }
    return state;
}

const char* process_exit::what_was_given_up() const noexcept {
    if (progress_ == progress::closed) {
        return "the program ended while a call was under way: the capture is complete, its exports may not be";
    }
    if (disk_stands_still_) {
        return has_capture_ ? "the program ended while the capture's disk did not answer: the capture has no end; prof "
                              "seal puts into it what was kept"
                            : "the program ended while the capture's disk did not answer: there is no capture, all of "
                              "it is lost";
    }
    return has_capture_ ? "the program ended while a call to libprof or CUDA was under way: the capture has no end; "
                          "prof seal puts into it what was kept"
                        : "the program ended while a call to libprof or CUDA was under way: there is no capture, all "
                          "of it is lost";
}

void process_exit::give_up(bool is_interrupted) noexcept {
    has_given_up_ = true;
    cupti_tracer::abandon();
    warn_once(what_was_given_up(), PROF_LOG_ERROR);
    if (is_interrupted) {
        functions_.leave_control();
    } else {
        functions_.close_control();
    }
}

}  // namespace prof
