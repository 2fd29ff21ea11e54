// How a recording ends with its process, and what a forked child does about its parent's.
#include <exception>
#include <mutex>

#include "ring/registry.hpp"
#include "session/control.hpp"
#include "session/recording.hpp"

namespace prof {
namespace {

std::atomic<bool> forked{false};

// This thread is in prof_stop, which waits for the GPU: what exits on it then is a signal's handler.
__thread bool is_stopping __attribute__((tls_model("initial-exec"))) = false;

struct stopping_mark {
    stopping_mark() noexcept { is_stopping = true; }
    ~stopping_mark() { is_stopping = false; }
    stopping_mark(const stopping_mark&) = delete;
    stopping_mark& operator=(const stopping_mark&) = delete;
};

}  // namespace

bool in_forked_child() noexcept { return forked.load(); }

session_result recording_session::stop(std::string& problem) {
    const auto command = begin_command(false);
    const stopping_mark mark;
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

// Another thread may be in prof_stop and wait for a GPU that does not end; or this one is, and a signal's handler
// exits. Then the capture has no end, and what it lacks stays in the rings.
void recording_session::end_with_process() {
    process_ends_ = true;
    if (has_given_up_) return;
    refuse_control();
    std::unique_lock<std::timed_mutex> command;
    if (!is_stopping) command = begin_command(true);
    if (command.owns_lock()) {
        std::string problem;
        (void)complete(format::end_reason::exited, problem);
        close_control();
        region_->remove_file();
        return;
    }
    has_given_up_ = true;
    cupti_tracer::leave_as_it_is();
    close_control();
    complain_once(
        "the program ended while its recording was being stopped: the capture has no end; prof seal puts into it what "
        "was kept");
}

void recording_session::in_child() noexcept {
    forked.store(true);
    // Where ranges are waited for, hooks ask the session, whose mutex may be held by a thread that is not in the child.
    abandon_region_in_child(instance().idle_gate_ == 0);
    abandon_control_in_child();
}

}  // namespace prof
