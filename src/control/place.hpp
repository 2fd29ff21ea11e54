// Where the control sockets are: <directory>/<pid>.sock in a private directory of the user's.
// Setup code; any thread.
#pragma once

#include <sys/stat.h>
#include <sys/types.h>

#include <string>
#include <vector>

namespace prof {

// "" if `path` is a directory (not a link to one) of the user `owner`'s that nobody else may enter; else one line.
// `look`: lstat(2), or another for tests.
std::string private_directory_problem(const std::string& path, uid_t owner,
                                      int (*look)(const char*, struct stat*) = nullptr);

// Where a process of this user's may have its socket: prof/ in $XDG_RUNTIME_DIR (if that is set) and in
// /run/user/<uid>, and /tmp/prof-<uid>. A process and who asks it may have different environments, so all are looked
// at.
std::vector<std::string> control_directories(uid_t owner);

// The directory in which this process puts its socket, made if need be, mode 0700: the first of them that can be had.
// Returns "", with `problem` set to one line, if there is none.
std::string make_control_directory(std::string& problem);

// Of a process; the sun_path of its address. "" if that is too long for one.
std::string control_socket_path(const std::string& directory, pid_t pid);

// The pid in such a file's name; 0 if the name is another.
pid_t pid_of_control_socket(const std::string& file_name) noexcept;

}  // namespace prof
