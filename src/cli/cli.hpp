// SPDX-License-Identifier: Apache-2.0
// Shared by the commands of `prof`: exit codes, the one-line complaint, the terminal's width. One thread.
#pragma once

#include <cstddef>
#include <string_view>

namespace prof {

inline constexpr int exit_ok = 0;
inline constexpr int exit_failure = 1;           // something could not be read, written or started
inline constexpr int exit_usage = 2;             // the command line makes no sense
inline constexpr int exit_not_executable = 126;  // as shells have it
inline constexpr int exit_not_found = 127;

// "prof: <line>" on stderr.
void complain(std::string_view line);

// The width in cells: of the terminal behind `descriptor`, else $COLUMNS, else 150, for logs.
std::size_t output_width(int descriptor);

}  // namespace prof
