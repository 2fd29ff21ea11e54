// How a recording ends with its process, and what a forked child does about its parent's.
#include <atomic>
#include <cstdint>
#include <ctime>
#include <exception>
#include <mutex>

#include "record/clock.hpp"
#include "ring/registry.hpp"
#include "session/control.hpp"
#include "session/recording.hpp"

namespace prof {
namespace {

std::atomic<bool> forked{false};

// A thread that exits in the middle of a call may hold what others need: CUDA's locks, or the allocator's.
constexpr std::uint64_t longest_standstill_ns = 5'000'000'000;
constexpr timespec between_looks{0, 200'000};

}  // namespace

__thread unsigned session_mutexes_held __attribute__((tls_model("initial-exec"))) = 0;

bool in_forked_child() noexcept { return forked.load(); }

session_result recording_session::stop(std::string& problem) {
    const auto command = begin_command(false);
    return complete(format::end_reason::stopped, problem);
}

void recording_session::at_exit() noexcept {
    if (!in_forked_child()) instance().end_with_process();
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
    } catch (const std::exception& failure) {
        complain_once(failure.what());
        end_ = end_progress::complete;  // or as far as it goes
    }
}

void recording_session::complete_at_exit() {
    refuse_control();
    const auto command = begin_command(true);
    if (!command.owns_lock()) return;
    std::string problem;
    (void)complete(format::end_reason::exited, problem);
    close_control();
    if (has_given_up_) return;
    region_->remove_file();
    end_ = end_progress::complete;
}

// Waits for CUPTI for five seconds, and for everything else as long as it goes on. Takes no lock and allocates nothing:
// this may be the thread that others wait for.
void recording_session::end_on_another_thread() noexcept {
    ends_elsewhere_ = true;
    ender_.ask();
    ending_state latest;
    std::uint64_t since = clock_ns(CLOCK_MONOTONIC);
    while (end_ != end_progress::complete) {
        const std::uint64_t now = clock_ns(CLOCK_MONOTONIC);
        if (const ending_state state = look_at_ending(); state != latest) {
            latest = state;
            since = now;
        } else if (now - since > longest_standstill_ns) {
            return;
        }
        (void)nanosleep(&between_looks, nullptr);
    }
}

// What changes while the end comes nearer.
recording_session::ending_state recording_session::look_at_ending() const noexcept {
    ending_state state{.progress = end_};
    if (state.progress == end_progress::none) return state;
    state.cpu_ns = ender_.cpu_ns();
    if (state.progress == end_progress::left_cupti && last_drain_ != nullptr) {
        state.records = last_drain_->so_far().records;
    }
    return state;
}

void recording_session::give_up(bool is_interrupted) noexcept {
    has_given_up_ = true;
    cupti_tracer::leave_as_it_is();
    complain_once(end_ == end_progress::closed
                      ? "the program ended while a call was under way: the capture is complete, its exports may not be"
                      : "the program ended while a call to libprof or CUDA was under way: the capture has no end; prof "
                        "seal puts into it what was kept");
    if (is_interrupted) {
        leave_control();
    } else {
        close_control();
    }
}

void recording_session::in_child() noexcept {
    forked.store(true);
    // Where ranges are waited for, hooks ask the session, whose mutex may be held by a thread that is not in the child.
    abandon_region_in_child(instance().idle_gate_ == 0);
    abandon_control_in_child();
}

}  // namespace prof
