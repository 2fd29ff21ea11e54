// SPDX-License-Identifier: Apache-2.0
// `prof baseline`: keeps runs as a small file, with which later ones are compared in place of captures. One thread.
#pragma once

#include <string>
#include <vector>

#include "cli/arguments.hpp"
#include "cli/compared_runs.hpp"

namespace prof {

class baseline_command {
public:
    // Describes the options. REQUIRES: this lives until they are parsed.
    explicit baseline_command(command_arguments& arguments);

    // Returns the exit status (cli.hpp). Throws usage_error, and prof::error if a capture cannot be read, the runs are
    // of several machines, or the file cannot be written.
    int operator()() const;

private:
    std::vector<std::string> words_;
    std::string output_;
    bool any_host_ = false;
    compared_part part_;
};

}  // namespace prof
