// SPDX-License-Identifier: Apache-2.0
// `prof open`: writes the page of a run and shows it in a browser. One thread.
#pragma once

#include <string>
#include <vector>

#include "cli/arguments.hpp"

namespace prof {

class open_command {
public:
    // Describes the options. REQUIRES: this lives until they are parsed.
    explicit open_command(command_arguments& arguments);

    // Returns the exit status (cli.hpp): exit_failure if a capture could not be read. A browser that cannot be started
    // is no failure: standard error has the page's path.
    int operator()() const;

private:
    std::vector<std::string> files_;
    std::string output_;
};

}  // namespace prof
