// What the parts of the `prof` command share: exit codes, the one-line complaint, the terminal's width.
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

// Of the terminal behind `descriptor`; else of $COLUMNS; else a width that a log bears.
std::size_t output_width(int descriptor);

}  // namespace prof
