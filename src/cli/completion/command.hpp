// SPDX-License-Identifier: Apache-2.0
// `prof completion`: prints the script by which a shell completes prof's command lines. One thread.
#pragma once

#include <string>
#include <vector>

#include "cli/arguments.hpp"

namespace prof {

class completion_command {
public:
    explicit completion_command(command_arguments& arguments);

    // Returns the exit status. Throws prof::error if the output cannot be written.
    int operator()() const;

private:
    std::string shell_;
};

// All that can be completed: the commands of `line`, and help.
std::vector<command_text> completed_commands(const command_line& line);

}  // namespace prof
