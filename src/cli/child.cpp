// SPDX-License-Identifier: Apache-2.0
#include "cli/child.hpp"

#include <fcntl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <csignal>

namespace prof {
namespace {

constexpr std::array passed_on = {SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGUSR1, SIGUSR2};

// Set before the handlers are installed and constant while they are.
volatile sig_atomic_t child_pid = 0;

volatile sig_atomic_t has_end_signal = 0;

void pass_on(int signal, siginfo_t* info, void*) {
    const int saved_errno = errno;
    const bool from_terminal = info->si_code == SI_KERNEL;
    if (signal != SIGUSR1 && signal != SIGUSR2) has_end_signal = 1;
    if (!from_terminal) kill(static_cast<pid_t>(child_pid), signal);
    errno = saved_errno;
}

sigset_t passed_on_set() {
    sigset_t set;
    sigemptyset(&set);
    for (const int signal : passed_on) sigaddset(&set, signal);
    return set;
}

// While it lives, signals go to the child.
class signal_passing {
public:
    signal_passing() {
        struct sigaction action {};
        action.sa_sigaction = pass_on;
        action.sa_flags = SA_SIGINFO | SA_RESTART;
        action.sa_mask = passed_on_set();
        for (std::size_t i = 0; i < passed_on.size(); ++i) {
            sigaction(passed_on[i], &action, &before_[i]);
        }
    }
    ~signal_passing() {
        for (std::size_t i = 0; i < passed_on.size(); ++i) sigaction(passed_on[i], &before_[i], nullptr);
    }
    signal_passing(const signal_passing&) = delete;
    signal_passing& operator=(const signal_passing&) = delete;

private:
    std::array<struct sigaction, passed_on.size()> before_{};
};

std::vector<char*> pointers(const std::vector<std::string>& texts) {
    std::vector<char*> out;
    out.reserve(texts.size() + 1);
    for (const std::string& text : texts) out.push_back(const_cast<char*>(text.c_str()));  // exec takes no const
    out.push_back(nullptr);
    return out;
}

[[noreturn]] void execute(const std::vector<char*>& command, const std::vector<char*>& variables, int report_to) {
    execvpe(command.front(), command.data(), variables.data());
    const int failure = errno;
    const ssize_t written = write(report_to, &failure, sizeof failure);
    _exit(written == sizeof failure ? 127 : 126);
}

}  // namespace

child_end run_child(const std::vector<std::string>& command, const environment& variables) {
    const std::vector<char*> arguments = pointers(command);
    const std::vector<char*> environment_block = pointers(variables);
    int ends[2];
    if (pipe2(ends, O_CLOEXEC) != 0) return {.start_error = errno};

    // No signal is lost in between: what comes before the handlers stand is delivered after.
    const sigset_t held = passed_on_set();
    sigset_t before;
    sigprocmask(SIG_BLOCK, &held, &before);
    const pid_t child = fork();
    if (child == 0) {
        sigprocmask(SIG_SETMASK, &before, nullptr);
        execute(arguments, environment_block, ends[1]);
    }
    const int fork_error = child < 0 ? errno : 0;
    close(ends[1]);
    if (child < 0) {
        close(ends[0]);
        sigprocmask(SIG_SETMASK, &before, nullptr);
        return {.start_error = fork_error};
    }

    child_pid = child;
    has_end_signal = 0;
    const signal_passing passing;
    sigprocmask(SIG_SETMASK, &before, nullptr);

    child_end end;
    end.pid = child;
    ssize_t count = 0;
    while ((count = read(ends[0], &end.start_error, sizeof end.start_error)) < 0 && errno == EINTR) {
    }
    if (count != sizeof end.start_error) end.start_error = 0;
    close(ends[0]);
    int status = 0;
    while (waitpid(child, &status, 0) < 0 && errno == EINTR) {
    }
    if (WIFSIGNALED(status)) {
        end.signal = WTERMSIG(status);
    } else {
        end.status = WEXITSTATUS(status);
    }
    end.is_unwanted = has_end_signal != 0;
    return end;
}

void die_by(int signal) {
    // The command has written its core file, if it was to. One of this process would be useless, or overwrite that.
    const rlimit no_core{};
    setrlimit(RLIMIT_CORE, &no_core);
    std::signal(signal, SIG_DFL);
    sigset_t only;
    sigemptyset(&only);
    sigaddset(&only, signal);
    sigprocmask(SIG_UNBLOCK, &only, nullptr);
    raise(signal);
}

}  // namespace prof
