// SPDX-License-Identifier: Apache-2.0
// The places of control sockets: <directory>/<pid>.sock in a directory that only the user can enter. For setup; any
// thread.
#pragma once

#include <sys/stat.h>
#include <sys/types.h>

#include <string>
#include <vector>

#include "base/outcome.hpp"

namespace prof {

// Fails unless `path` is a directory (not a link to one) of the user `owner` that no other user may enter. `status_of`
// replaces lstat(2) in tests.
outcome check_private_directory(const std::string& path, uid_t owner,
                                int (*status_of)(const char*, struct stat*) = nullptr);

// The directories in which a process of this user may have its socket: prof/ in $XDG_RUNTIME_DIR (if set) and in
// /run/user/<uid>, and /tmp/prof-<uid>. A client checks all of them, since its environment may differ from the
// process's.
std::vector<std::string> control_directories(uid_t owner);

// The directory for this process's socket: the first of these that can be used, created with mode 0700 if needed.
result<std::string> make_control_directory();

// The path of a process's socket, for sun_path; "" if it is too long for that.
std::string control_socket_path(const std::string& directory, pid_t pid);

// The pid in the file name of a socket; 0 if it is not such a name.
pid_t pid_of_control_socket(const std::string& file_name) noexcept;

}  // namespace prof
