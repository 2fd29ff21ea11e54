#include "session/control_signal.hpp"

#include <signal.h>

#include <atomic>
#include <cerrno>
#include <cstring>

namespace prof {
namespace {

std::atomic<control_server*> told{nullptr};
std::atomic<int> observed_signal{0};

// On any thread of the program, in the midst of anything.
void on_signal(int) {
    const int before = errno;
    if (control_server* const server = told.load()) server->raise();
    errno = before;
}

bool is_default(const struct sigaction& action) noexcept {
    return (action.sa_flags & SA_SIGINFO) == 0 && action.sa_handler == SIG_DFL;
}

}  // namespace

std::string watch_signal(int signal, control_server& server) {
    struct sigaction before {};
    sigaction(signal, nullptr, &before);
    if (!is_default(before)) return "the program has a handler of its own for that signal, or ignores it";
    told.store(&server);
    struct sigaction ours {};
    ours.sa_handler = on_signal;
    ours.sa_flags = SA_RESTART | SA_ONSTACK;
    sigemptyset(&ours.sa_mask);
    if (sigaction(signal, &ours, nullptr) != 0) return std::strerror(errno);
    observed_signal.store(signal);
    return {};
}

void leave_signal_in_child() noexcept {
    told.store(nullptr);
    const int signal = observed_signal.load();
    struct sigaction now {};
    if (signal == 0 || sigaction(signal, nullptr, &now) != 0 || now.sa_handler != on_signal) return;
    now = {};
    now.sa_handler = SIG_DFL;
    sigaction(signal, &now, nullptr);
}

}  // namespace prof
