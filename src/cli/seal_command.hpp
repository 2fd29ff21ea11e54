// SPDX-License-Identifier: Apache-2.0
// `prof seal`: closes captures whose processes died (capture/recovery/seal.hpp). One thread.
#pragma once

#include <string>
#include <vector>

#include "cli/arguments.hpp"

namespace prof {

class seal_command {
public:
    explicit seal_command(command_arguments& arguments);

    // Returns the exit status (cli.hpp): exit_failure if a capture could not be sealed, while the others are.
    int operator()() const;

private:
    std::vector<std::string> files_;
};

}  // namespace prof
