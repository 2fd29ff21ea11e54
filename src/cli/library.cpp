// SPDX-License-Identifier: Apache-2.0
#include "cli/library.hpp"

#include <dlfcn.h>
#include <fcntl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <string_view>
#include <system_error>
#include <utility>

namespace prof {
namespace {

constexpr int other_library = 3;  // an exit status of the child

// In the child. Loading the library starts no recording; the option makes sure of that.
[[noreturn]] void load_and_exit(const char* path, int report_to) {
    setenv("PROF_AUTOSTART", "0", 1);  // NOLINT(concurrency-mt-unsafe): the child has one thread
    if (void* const library = dlopen(path, RTLD_NOW | RTLD_LOCAL)) {
        _exit(dlsym(library, "prof_version") != nullptr ? 0 : other_library);
    }
    const char* const reason = dlerror();  // NOLINT(concurrency-mt-unsafe)
    const ssize_t written = write(report_to, reason, std::strlen(reason));
    _exit(written < 0 ? 2 : 1);
}

std::string read_all(int descriptor) {
    std::string out;
    char piece[512];
    for (;;) {
        const ssize_t count = read(descriptor, piece, sizeof piece);
        if (count < 0 && errno == EINTR) continue;
        if (count <= 0) return out;
        out.append(piece, static_cast<std::size_t>(count));
    }
}

std::string beside_executable(const char* from_bin) {
    std::error_code failed;
    const std::filesystem::path executable = std::filesystem::read_symlink("/proc/self/exe", failed);
    return (executable.parent_path() / from_bin).lexically_normal().string();
}

}  // namespace

std::string library_beside_executable() { return beside_executable(PROF_LIBRARY_FROM_BIN "/" PROF_LIBRARY_NAME); }

std::string python_folder_beside_executable() { return beside_executable(PROF_PYTHON_FROM_BIN); }

outcome try_python_folder(const std::string& folder) {
    if (folder.find(':') != std::string::npos)
        return outcome::failed("PYTHONPATH cannot hold a path with colons: " + folder);
    const std::string script = folder + "/sitecustomize.py";
    if (access(script.c_str(), R_OK) == 0) return {};
    return outcome::failed(script + ": " + std::generic_category().message(errno));
}

outcome try_library(const std::string& path) {
    if (path.find_first_of(": \t\n") != std::string::npos) {
        return outcome::failed("LD_PRELOAD cannot hold a path with blanks or colons: " + path);
    }
    if (access(path.c_str(), R_OK) != 0) {
        return outcome::failed(path + ": " + std::generic_category().message(errno));
    }
    int ends[2];
    if (pipe2(ends, O_CLOEXEC) != 0) {
        return outcome::failed("cannot make a pipe: " + std::generic_category().message(errno));
    }
    const pid_t child = fork();
    if (child == 0) load_and_exit(path.c_str(), ends[1]);
    close(ends[1]);
    std::string reason = child < 0 ? "cannot fork: " + std::generic_category().message(errno) : read_all(ends[0]);
    close(ends[0]);
    if (child < 0) return outcome::failed(std::move(reason));

    int status = 0;
    while (waitpid(child, &status, 0) < 0 && errno == EINTR) {
    }
    if (WIFSIGNALED(status)) {
        return outcome::failed(path + " ended a process that loaded it with signal " +
                               std::to_string(WTERMSIG(status)));
    }
    if (WEXITSTATUS(status) == 0) return {};
    if (WEXITSTATUS(status) == other_library) return outcome::failed(path + " is not libprof (it has no prof_version)");
    return outcome::failed(reason.empty() ? path + " cannot be loaded" : reason);
}

}  // namespace prof
