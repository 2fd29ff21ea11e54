// SPDX-License-Identifier: Apache-2.0
#include "cli/pager.hpp"

#include <fcntl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <string_view>

#include "cli/cli.hpp"

namespace prof {
namespace {

// "": none.
std::string pager_command() {
    for (const char* const name : {"PROF_PAGER", "PAGER"}) {
        const char* const value = std::getenv(name);  // NOLINT(concurrency-mt-unsafe): one thread
        if (value == nullptr) continue;
        return std::string_view(value) == "cat" ? std::string() : std::string(value);
    }
    return "less -FRX";
}

bool write_all(int descriptor, std::string_view bytes) {
    while (!bytes.empty()) {
        const ssize_t written = write(descriptor, bytes.data(), bytes.size());
        if (written < 0 && errno == EINTR) continue;
        if (written <= 0) return false;
        bytes.remove_prefix(static_cast<std::size_t>(written));
    }
    return true;
}

// False: it could not be started, and showed nothing.
bool show_with(const std::string& command, const std::string& text) {
    int ends[2] = {-1, -1};
    if (pipe2(ends, O_CLOEXEC) != 0) return false;
    const pid_t child = fork();
    if (child == 0) {
        dup2(ends[0], STDIN_FILENO);
        setenv("LESS", "FRX", 0);  // NOLINT(concurrency-mt-unsafe): one thread. Colours are shown, a short text is left
        execl("/bin/sh", "sh", "-c", command.c_str(), static_cast<char*>(nullptr));
        _exit(exit_not_found);
    }
    close(ends[0]);
    if (child < 0) {
        close(ends[1]);
        return false;
    }
    // The reader may quit before the end; an interrupt is the pager's, not this process's.
    auto* const pipe_before = std::signal(SIGPIPE, SIG_IGN);
    auto* const interrupt_before = std::signal(SIGINT, SIG_IGN);
    write_all(ends[1], text);
    close(ends[1]);
    int status = 0;
    while (waitpid(child, &status, 0) < 0 && errno == EINTR) {
    }
    std::signal(SIGPIPE, pipe_before);
    std::signal(SIGINT, interrupt_before);
    const int code = WIFEXITED(status) ? WEXITSTATUS(status) : exit_ok;
    return code != exit_not_found && code != exit_not_executable;
}

}  // namespace

void print_paged(const std::string& text) {
    const auto lines = static_cast<std::size_t>(std::count(text.begin(), text.end(), '\n'));
    const bool is_long = isatty(STDOUT_FILENO) == 1 && lines >= output_lines(STDOUT_FILENO);
    const std::string command = is_long ? pager_command() : std::string();
    if (command.empty() || std::fflush(stdout) != 0 || !show_with(command, text)) print(text);
}

}  // namespace prof
