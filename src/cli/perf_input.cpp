// SPDX-License-Identifier: Apache-2.0
#include "cli/perf_input.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string_view>
#include <vector>

#include "base/error.hpp"

extern char** environ;  // NOLINT(readability-redundant-declaration): of unistd.h only with _GNU_SOURCE

namespace prof {
namespace {

constexpr std::string_view script_fields = "tid,time,ip,sym,dso";

// What `perf script` writes of a perf.data.
std::string script_of(const std::string& path) {
    const std::string input = path.starts_with('-') ? "./" + path : path;
    std::vector<std::string> words = {"perf", "script", "--ns", "-F", std::string(script_fields), "-i", input};
    std::vector<char*> arguments;
    arguments.reserve(words.size() + 1);
    for (std::string& word : words) arguments.push_back(word.data());
    arguments.push_back(nullptr);
    std::array<int, 2> ends{};
    if (pipe2(ends.data(), O_CLOEXEC) != 0) throw error(std::string("no pipe: ") + std::strerror(errno));
    posix_spawn_file_actions_t actions;
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
    posix_spawn_file_actions_adddup2(&actions, ends[1], STDOUT_FILENO);
    posix_spawn_file_actions_addopen(&actions, STDERR_FILENO, "/dev/null", O_WRONLY, 0);
    pid_t child = 0;
    const int problem = posix_spawnp(&child, "perf", &actions, nullptr, arguments.data(), environ);
    posix_spawn_file_actions_destroy(&actions);
    close(ends[1]);
    std::string out;
    std::vector<char> part(1U << 20);
    while (problem == 0) {
        const ssize_t got = read(ends[0], part.data(), part.size());
        if (got < 0 && errno == EINTR) continue;
        if (got <= 0) break;
        out.append(part.data(), static_cast<std::size_t>(got));
    }
    close(ends[0]);
    int status = 0;
    while (problem == 0 && waitpid(child, &status, 0) < 0 && errno == EINTR) {
    }
    if (problem != 0 || status != 0) {
        throw error(
            fmt::format("{} is a perf.data, and `perf script` {}; where it can be read, make a text of it: "
                        "perf script --ns -F {} -i {} > FILE",
                        path, problem != 0 ? std::string("cannot be run: ") + std::strerror(problem) : "failed",
                        script_fields, path));
    }
    return out;
}

}  // namespace

perf_samples read_perf_file(const std::string& path) {
    std::ifstream file(path, std::ios::binary);
    if (!file) throw error(fmt::format("cannot open {}: {}", path, std::strerror(errno)));
    if (std::filesystem::is_directory(path)) throw error(fmt::format("cannot read {}: it is a directory", path));
    constexpr std::string_view magic = "PERFILE";
    std::string text(magic.size(), '\0');
    file.read(text.data(), static_cast<std::streamsize>(text.size()));
    text.resize(static_cast<std::size_t>(file.gcount()));
    if (text == magic) {
        text = script_of(path);
    } else {
        text.append(std::istreambuf_iterator<char>(file), {});
    }
    perf_samples out = read_perf_script(text);
    if (out.samples.empty()) {
        throw error(fmt::format("{} has no samples: neither a perf.data nor what `perf script -F {}` writes", path,
                                script_fields));
    }
    return out;
}

}  // namespace prof
