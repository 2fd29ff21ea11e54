// SPDX-License-Identifier: Apache-2.0
// Shared by the commands of `prof`: exit codes, the one-line complaint, the terminal's width. One thread.
#pragma once

#include <cstddef>
#include <string_view>

namespace prof {

inline constexpr int exit_ok = 0;
inline constexpr int exit_failure = 1;           // something could not be read, written or started
inline constexpr int exit_usage = 2;             // the command line makes no sense
inline constexpr int exit_finding = 3;           // prof diagnose --fail-above, prof diff --fail-over
inline constexpr int exit_inconclusive = 4;      // prof diff --fail-over: more runs are needed to tell
inline constexpr int exit_not_executable = 126;  // as shells have it
inline constexpr int exit_not_found = 127;

// "prof: <line>" on stderr, control characters escaped. Nothing happens where stderr is closed or full.
void complain(std::string_view line);
// Likewise for a text of several lines: the first as above, the others as they are.
void complain_at_length(std::string_view text);
// A text as it is, on stderr.
void print_error(std::string_view text) noexcept;
// A text as it is, on stdout. Throws prof::error if it cannot be written.
void print(std::string_view text);

// A standard stream that is closed becomes one that refuses every byte: a file that is opened later must not get its
// number, and messages with it. Programs that are executed later find it closed.
void occupy_standard_streams() noexcept;

// By how many threads a command compresses what it writes: one for each processor that it may use, up to four; 0 if
// that is one.
unsigned compressing_threads() noexcept;

// The width in cells: of the terminal behind `descriptor`, else $COLUMNS, else 150, for logs.
std::size_t output_width(int descriptor);

// The height in lines of the terminal behind `descriptor`; 24 of one that does not say. SIZE_MAX: it is no terminal.
std::size_t output_lines(int descriptor);

// Whether characters outside ASCII can be read where this command's output goes, as far as the locale says.
bool has_utf8_locale();

// Whether output to `descriptor` has colour: "always", "never", or "auto" (a terminal has it, unless NO_COLOR is set or
// TERM is dumb).
bool has_color(std::string_view choice, int descriptor);

}  // namespace prof
