// SPDX-License-Identifier: Apache-2.0
#include "session/control_signal.hpp"

#include <signal.h>

#include <atomic>
#include <cerrno>
#include <cstring>

namespace prof {
namespace {

std::atomic<control_server*> signalled_server{nullptr};
std::atomic<int> observed_signal{0};

// On any thread of the program, in the middle of anything.
void on_signal(int) {
    const int before = errno;
    if (control_server* const server = signalled_server.load()) server->raise();
    errno = before;
}

bool is_default(const struct sigaction& action) noexcept {
    return (action.sa_flags & SA_SIGINFO) == 0 && action.sa_handler == SIG_DFL;
}

}  // namespace

outcome watch_signal(int signal, control_server& server) {
    struct sigaction before {};
    sigaction(signal, nullptr, &before);
    if (!is_default(before)) {
        return outcome::failed("the program has a handler of its own for that signal, or ignores it");
    }
    signalled_server.store(&server);
    struct sigaction ours {};
    ours.sa_handler = on_signal;
    ours.sa_flags = SA_RESTART | SA_ONSTACK;
    sigemptyset(&ours.sa_mask);
    if (sigaction(signal, &ours, nullptr) != 0) return outcome::failed(std::strerror(errno));
    observed_signal.store(signal);
    return {};
}

void leave_signal_in_child() noexcept {
    signalled_server.store(nullptr);
    const int signal = observed_signal.load();
    struct sigaction now {};
    if (signal == 0 || sigaction(signal, nullptr, &now) != 0 || now.sa_handler != on_signal) return;
    now = {};
    now.sa_handler = SIG_DFL;
    sigaction(signal, &now, nullptr);
}

}  // namespace prof
