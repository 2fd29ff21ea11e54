// SPDX-License-Identifier: Apache-2.0
#include "support/run_process.hpp"

#include <fcntl.h>
#include <spawn.h>
#include <unistd.h>

#include <cstring>
#include <fstream>
#include <iterator>
#include <stdexcept>

extern char** environ;

namespace prof::test {

std::string read_file(const std::string& path) {
    std::ifstream in(path, std::ios::binary);
    return {std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>()};
}

pid_t start_process(const std::vector<std::string>& command, const std::map<std::string, std::string>& changes,
                    const std::string& directory, const std::string& out, const std::string& err) {
    std::map<std::string, std::string> variables;
    for (char** variable = environ; *variable != nullptr; ++variable) {
        const char* equals = std::strchr(*variable, '=');
        if (equals != nullptr) variables[{*variable, static_cast<std::size_t>(equals - *variable)}] = equals + 1;
    }
    for (const auto& [name, value] : changes) {
        if (value.empty()) {
            variables.erase(name);
        } else {
            variables[name] = value;
        }
    }
    std::vector<std::string> lines;
    for (const auto& [name, value] : variables) lines.push_back(name + "=" + value);
    std::vector<char*> environment;
    for (std::string& line : lines) environment.push_back(line.data());
    environment.push_back(nullptr);
    std::vector<std::string> words = command;
    std::vector<char*> arguments;
    for (std::string& word : words) arguments.push_back(word.data());
    arguments.push_back(nullptr);

    posix_spawn_file_actions_t actions;
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_addchdir_np(&actions, directory.c_str());
    posix_spawn_file_actions_addopen(&actions, STDOUT_FILENO, out.c_str(), O_CREAT | O_WRONLY, 0600);
    posix_spawn_file_actions_addopen(&actions, STDERR_FILENO, err.c_str(), O_CREAT | O_WRONLY, 0600);
    pid_t child = 0;
    const int failed = posix_spawn(&child, arguments[0], &actions, nullptr, arguments.data(), environment.data());
    posix_spawn_file_actions_destroy(&actions);
    if (failed != 0) throw std::runtime_error("cannot run " + command[0] + ": " + std::strerror(failed));
    return child;
}

process_result run_process(const std::vector<std::string>& command, const std::map<std::string, std::string>& changes,
                           const std::string& directory) {
    const scratch_directory pipes;
    const std::string out = pipes.path + "/out";
    const std::string err = pipes.path + "/err";
    const pid_t child = start_process(command, changes, directory, out, err);
    process_result result;
    waitpid(child, &result.status, 0);
    result.out = read_file(out);
    result.err = read_file(err);
    return result;
}

}  // namespace prof::test
