// SPDX-License-Identifier: Apache-2.0
// The command's manual pages, which are also its --help. One thread.
#pragma once

#include <string>
#include <vector>

#include "cli/arguments.hpp"

namespace prof {

// The page of a command, of `prof` itself for "": 80 cells wide, with the options as the command line describes them.
std::string manual_page(const std::string& command, const std::vector<option_text>& options);

// How `prof` is called, in a few lines.
std::string usage();

// What a command is for, in one line: "run a command under libprof and report on it when it has ended".
std::string purpose_of(const std::string& command);

}  // namespace prof
