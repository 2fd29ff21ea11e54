// How a recording ends with its process, and what a forked child does about its parent's.
#include <atomic>
#include <chrono>
#include <exception>
#include <mutex>

#include "ring/registry.hpp"
#include "session/control.hpp"
#include "session/recording.hpp"

namespace prof {
namespace {

std::atomic<bool> forked{false};

// A thread that exits in the middle of a call to CUDA may hold what others need to let go of CUPTI.
constexpr std::chrono::milliseconds longest_wait_in_call{5000};

}  // namespace

__thread unsigned session_mutexes_held __attribute__((tls_model("initial-exec"))) = 0;

bool in_forked_child() noexcept { return forked.load(); }

session_result recording_session::stop(std::string& problem) {
    const auto command = begin_command(false);
    return complete(format::end_reason::stopped, problem);
}

void recording_session::at_exit() noexcept {
    if (in_forked_child()) return;
    try {
        instance().end_with_process();
    } catch (const std::exception& failure) {
        complain_once(failure.what());
    }
}

// A signal's handler may exit on a thread that is inside the session or in the middle of a call to CUDA, and another
// thread may be in prof_stop and wait for a GPU that does not end. Where the capture cannot be completed it has no end,
// and what it lacks stays in the rings.
void recording_session::end_with_process() {
    process_ends_ = true;
    if (has_given_up_) return;
    end_ = end_progress::none;
    if (session_mutexes_held == 0) {
        if (cupti_tracer::is_in_call()) {
            end_on_another_thread();
        } else {
            end_here();
        }
    }
    if (end_ != end_progress::complete) give_up();
}

void recording_session::end_here() {
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

// Waits for the capture as long as that takes, but not for CUPTI.
void recording_session::end_on_another_thread() {
    ender_.post([this] { end_here(); });
    if (!ender_.wait_until_idle(longest_wait_in_call) && end_ != end_progress::none) ender_.wait_until_idle();
}

void recording_session::give_up() {
    has_given_up_ = true;
    cupti_tracer::leave_as_it_is();
    complain_once(
        "the program ended while a call to libprof or CUDA was under way: the capture has no end; prof seal puts into "
        "it what was kept");
    close_control();
}

void recording_session::in_child() noexcept {
    forked.store(true);
    // Where ranges are waited for, hooks ask the session, whose mutex may be held by a thread that is not in the child.
    abandon_region_in_child(instance().idle_gate_ == 0);
    abandon_control_in_child();
}

}  // namespace prof
