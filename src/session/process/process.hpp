// SPDX-License-Identifier: Apache-2.0
// Facts about the process that libprof is in: its name, rank and command.
// Setup code: reads /proc. Any thread, except where a function reads the environment.
#pragma once

#include <string>
#include <vector>

#include "options/options.hpp"

namespace prof {

struct process_facts {
    std::string hostname;
    std::string command;  // the arguments, joined by blanks
    std::string executable;
    std::string working_directory;
    std::string name;  // of the program, or of the script that python runs
    std::string rank;
    std::string world_size;  // "" if unknown
    std::string local_rank;  // "" if unknown
};

// What the environment contains besides the options. REQUIRES: a thread of the program reads it. A thread of libprof's
// might read memory that the program frees at the same moment, when it changes the environment.
struct environment_facts {
    std::string rank;  // "" if unknown, and so are the next two
    std::string world_size;
    std::string local_rank;
    std::vector<std::string> toolkits;  // directories in which CUDA may be installed
};
environment_facts read_environment_facts();

// The program has more rights than the user who started it: it is set-user-id, or its file has capabilities. Its
// environment cannot be trusted then, and libprof does nothing at all.
bool has_more_rights_than_its_user() noexcept;

process_facts read_process_facts(const session_options& options, const environment_facts& environment);

}  // namespace prof
