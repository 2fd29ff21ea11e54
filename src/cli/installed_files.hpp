// SPDX-License-Identifier: Apache-2.0
// The files that are installed beside the command and made of its own tables. One thread.
#pragma once

#include <string>

#include "cli/arguments.hpp"

namespace prof {

// Writes the pages for man(1) and the scripts for shells into `share`, a folder like /usr/share. Throws prof::error.
void write_installed_files(const command_line& line, const std::string& share);

}  // namespace prof
