// SPDX-License-Identifier: Apache-2.0
// Runs a program with an environment that the test gives, and returns its exit status and its output.
#pragma once

#include <sys/wait.h>

#include <map>
#include <string>
#include <vector>

#include "support/scratch_directory.hpp"

namespace prof::test {

struct process_result {
    int status = 0;  // as waitpid gives it
    std::string out;
    std::string err;

    int exit_code() const { return WIFEXITED(status) ? WEXITSTATUS(status) : -1; }
    int signal() const { return WIFSIGNALED(status) ? WTERMSIG(status) : 0; }
};

// The test's own environment with `changes` on top; an empty value removes a variable.
process_result run_process(const std::vector<std::string>& command, const std::map<std::string, std::string>& changes,
                           const std::string& directory);

// The same, and does not wait for it; what it prints goes to the files `out` and `err`.
pid_t start_process(const std::vector<std::string>& command, const std::map<std::string, std::string>& changes,
                    const std::string& directory, const std::string& out, const std::string& err);

std::string read_file(const std::string& path);

}  // namespace prof::test
