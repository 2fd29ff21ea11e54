// SPDX-License-Identifier: Apache-2.0
// How large a capture may be to be read back inside the program. That takes memory and time in proportion to its size,
// and a job that has done its work must not die for want of memory.
#pragma once

#include <cstdint>
#include <string>

#include "base/outcome.hpp"
#include "options/options.hpp"

namespace prof {

// The memory that the process may still take: of the machine's, and of each control group that it is in. Reads the
// kernel's files under `root`. 2⁶⁴-1 where no file states a limit.
std::uint64_t memory_left(const std::string& root = "");

// Fails if a capture of `stored_bytes` on disk is too large to be read back where `left` bytes of memory are left.
outcome check_size_to_read(std::uint64_t stored_bytes, bool is_compressed, std::uint64_t left);
// The same for the file of a capture.
outcome check_size_to_read(const std::string& capture_path, bool is_compressed);

// As write_exports(), unless the capture is too large. Then the command can make the exports, and one line on stderr
// states that; `refusal` gets it, too, if it is not null.
outcome write_bounded_exports(const session_options& options, const std::string& capture_path,
                              std::string* refusal = nullptr);

}  // namespace prof
