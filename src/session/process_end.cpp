// How a recording ends with its process.
#include <atomic>
#include <chrono>
#include <cstdint>
#include <ctime>
#include <exception>
#include <mutex>
#include <new>

#include "base/clock.hpp"
#include "ring/registry.hpp"
#include "session/control.hpp"
#include "session/recording.hpp"

namespace prof {
namespace {

constexpr timespec between_looks{0, 200'000};

}  // namespace

__thread unsigned session_mutexes_held __attribute__((tls_model("initial-exec"))) = 0;

session_result recording_session::stop(std::string& problem) {
    const auto command = begin_command(false);
    const session_result result = complete(format::end_reason::stopped, problem);
    if (inherits_) take_names_off_rings();
    return result;
}

// A signal's handler may exit on a thread that is inside the session, or in the middle of a call to CUDA or to the
// allocator, and another thread may be in prof_stop and wait for a GPU that does not end. Where the capture cannot be
// completed it has no end, and what it lacks stays in the rings.
void recording_session::end_with_process() noexcept {
    process_ends_ = true;
    if (has_given_up_) return;
    end_ = end_progress::none;
    const bool is_interrupted = is_in_signal_handler();
    if (session_mutexes_held == 0) {
        if (!is_interrupted && !cupti_tracer::is_in_call()) {
            end_here();
        } else if (ender_.is_there()) {
            end_on_another_thread();
        } else {  // nothing was recorded
            leave_control();
            end_ = end_progress::complete;
        }
    }
    if (end_ != end_progress::complete) give_up(is_interrupted);
}

void recording_session::end_here() noexcept {
    try {
        complete_at_exit();
    } catch (const std::bad_alloc&) {
        leave_unfinished(has_capture_ ? "no memory: the capture has no end; prof seal puts into it what was kept"
                                      : "no memory: there is no capture, all of it is lost");
    } catch (const std::exception& failure) {
        leave_unfinished(failure.what());
    }
}

// The next of our exit handlers may run after CUPTI's own: it is not to begin anew.
void recording_session::leave_unfinished(const char* why) noexcept {
    has_given_up_ = true;
    cupti_tracer::abandon();
    warn_once(why);
    end_ = end_progress::complete;  // or as far as it goes
}

void recording_session::complete_at_exit() {
    refuse_control();
    const auto command = begin_command(true);
    if (!command.owns_lock()) return;
    std::string problem;
    (void)complete(format::end_reason::exited, problem);
    if (disk_is_silent_ || !exporter_.is_idle() || !background_.is_idle()) return;
    ends_in_a_hurry() ? hurry_control() : close_control();
    if (has_given_up_) return;
    end_ = end_progress::complete;
}

// A moment ago all was taken in, by a disk that answered. What is left is little, and done without a wait for another
// thread, which takes long where threads wait for a processor.
bool recording_session::ends_in_a_hurry() const noexcept {
    const std::uint64_t since = brought_in_ns_.load();
    const auto age = std::chrono::nanoseconds(clock_ns(CLOCK_MONOTONIC) - since);
    return since != 0 && age < longest_standstill && !ends_elsewhere_;
}

// Waits for CUPTI for five seconds, and for everything else as long as it goes on: the thread that exits may hold what
// others need, CUDA's locks or the allocator's. Takes no lock and allocates nothing:
// this may be the thread that others wait for.
void recording_session::end_on_another_thread() noexcept {
    ends_elsewhere_ = true;
    ender_.ask();
    ending_state latest;
    std::uint64_t since = clock_ns(CLOCK_MONOTONIC);
    while (end_ != end_progress::complete) {
        const std::uint64_t now = clock_ns(CLOCK_MONOTONIC);
        if (const ending_state state = ending_progress(); state != latest) {
            latest = state;
            since = now;
        } else if (std::chrono::nanoseconds(now - since) > longest_standstill) {
            return;
        }
        (void)nanosleep(&between_looks, nullptr);
    }
}

// What changes while the end comes nearer.
recording_session::ending_state recording_session::ending_progress() const noexcept {
    ending_state state{.progress = end_};
    if (state.progress == end_progress::none) return state;
    state.cpu_ns = ender_.cpu_ns();
    if (state.progress == end_progress::left_cupti && last_drain_ != nullptr) {
        state.records = last_drain_->so_far().records;
    }
    return state;
}

const char* recording_session::what_was_given_up() const noexcept {
    if (end_ == end_progress::closed) {
        return "the program ended while a call was under way: the capture is complete, its exports may not be";
    }
    if (disk_is_silent_) {
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

void recording_session::give_up(bool is_interrupted) noexcept {
    has_given_up_ = true;
    cupti_tracer::abandon();
    warn_once(what_was_given_up());
    if (is_interrupted) {
        leave_control();
    } else {
        close_control();
    }
}

}  // namespace prof
