// The one line that libprof writes to stderr.
#pragma once

#include <string_view>

namespace prof {

// Writes "libprof: LINE" to stderr, at most once in the life of the process: the first line that can be written without
// a wait. Never writes to stdout. Raises no signal where the reader is gone. A few system calls, no lock, no
// allocation; any thread.
void warn_once(std::string_view line) noexcept;

}  // namespace prof
