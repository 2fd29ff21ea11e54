// SPDX-License-Identifier: Apache-2.0
// `prof export`: a capture as a trace for viewers. Memory is that of the timeline. One thread.
#pragma once

#include <string>

#include "cli/arguments.hpp"
#include "cli/input.hpp"

namespace prof {

class export_command {
public:
    // Describes the options. REQUIRES: this lives until they are parsed.
    explicit export_command(command_arguments& arguments);
    // Writes the trace, and its counts on stdout. Returns the exit status (cli.hpp). Throws prof::error if the capture
    // cannot be read or the trace cannot be written.
    int operator()() const;

private:
    std::string file_;
    std::string output_;
    attribution_flags flags_;
};

}  // namespace prof
