// SPDX-License-Identifier: Apache-2.0
// The line that libprof writes to stderr, or passes to the program's sink.
#pragma once

#include <prof/prof.h>

#include <atomic>
#include <string_view>

namespace prof {

// Writes "libprof: LINE" to stderr, at most once in the life of the process: the first line that can be written without
// a wait. After a warning the first error is written, too, so that a small loss does not hide that of the recording.
// Never writes to stdout. Raises no signal where the reader is gone. A few system calls, no lock, no
// allocation; any thread.
//
// If the program has a sink for such lines (prof_set_log), the line is queued for that instead, and so is each later
// one (events.hpp): a short lock and an allocation.
void warn_once(std::string_view line, prof_log_severity severity = PROF_LOG_WARNING) noexcept;

// With PROF_LOG=debug each change of a recording is a line on stderr, and so is each warning.
inline std::atomic<bool> is_logging{false};
// Reads that variable. Before the process's first recording; any thread.
void begin_log() noexcept;
// Writes "libprof: process PID: LINE" to stderr, if that was asked for, unless the write would wait. Any thread.
void log_line(std::string_view line) noexcept;

// Writes "libprof: LINE" to stderr unless the write would wait: what the user has asked for. Likewise otherwise.
void write_line(std::string_view line) noexcept;

}  // namespace prof
