// SPDX-License-Identifier: Apache-2.0
// `prof ctl`: sends a command to a running process, or asks for its status (control/client.hpp). One thread.
#pragma once

#include <string>
#include <vector>

#include "cli/arguments.hpp"

namespace prof {

class ctl_command {
public:
    explicit ctl_command(command_arguments& arguments);

    // Returns the exit status: 0 done, 1 refused or failed, 3 the process could not be reached. Throws usage_error for
    // a command line that makes no sense. Blocks until the process answers, within --timeout.
    int operator()() const;

private:
    int list() const;
    int ask() const;

    std::vector<std::string> words_;  // PID COMMAND name=value...
    bool list_ = false;
    bool json_ = false;
    double timeout_s_ = 0;  // 0: as long as it takes
};

}  // namespace prof
