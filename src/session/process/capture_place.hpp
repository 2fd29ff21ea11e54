// SPDX-License-Identifier: Apache-2.0
// Where a capture is made: its directory, and a path that is free. Setup code: system calls on the calling thread,
// which wait for a disk that does not answer. Any thread.
#pragma once

#include <string>

#include "base/outcome.hpp"
#include "options/options.hpp"
#include "session/process/process.hpp"

namespace prof {

// Whether anything has this name, even a link to nothing.
bool is_taken(const std::string& path) noexcept;

// <output_dir>/<name>.<rank>.<hostname>-<pid>.prof. If that is taken (by an earlier recording of this process, or by
// another process with its number): ….2.prof, and so on.
std::string unused_capture_path(const session_options& options, const process_facts& facts);

// Makes the directories of a path and the path itself; their modes follow the umask.
outcome make_directories(const std::string& path);
// Likewise, and checks whether files may be made in it.
outcome prepare_directory(const std::string& path);

}  // namespace prof
