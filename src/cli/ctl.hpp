// `prof ctl`: what a running process is to do, or to tell.
#pragma once

#include <string>
#include <vector>

#include "cli/arguments.hpp"

namespace prof {

class ctl_command {
public:
    explicit ctl_command(command_arguments& arguments);

    // Returns the exit status: 0 done, 1 refused or failed, 3 the process could not be reached. Throws
    // usage_error for what makes no sense.
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
