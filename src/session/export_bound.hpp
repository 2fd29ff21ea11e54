// How large a capture may be to be read back inside the program: that takes memory and time in proportion to it, and a
// job that has done its work is not to end for want of memory.
#pragma once

#include <cstdint>
#include <string>

#include "options/options.hpp"

namespace prof {

// What the process may still take: of the machine's memory, and of each control group it is in. The files that say so
// are looked for under `root`. 2⁶⁴-1 where nothing says so.
std::uint64_t memory_left(const std::string& root = "");

// Why a capture that takes `stored_bytes` on its disk is not read back where there are `left` bytes of memory; "" if it
// is.
std::string too_large_to_read(std::uint64_t stored_bytes, bool is_compressed, std::uint64_t left);
// Likewise, of a file.
std::string too_large_to_read(const std::string& capture_path, bool is_compressed);

// As write_exports(), but not of a capture that is too large: that is left to the command, which one line on stderr
// says.
std::string write_bounded_exports(const session_options& options, const std::string& capture_path);

}  // namespace prof
