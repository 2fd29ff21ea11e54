// SPDX-License-Identifier: Apache-2.0
#include "control/place.hpp"

#include <sys/un.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <string_view>

#include "base/number.hpp"

namespace prof {
namespace {

constexpr std::string_view socket_suffix = ".sock";

outcome make_private(const std::string& path, uid_t owner) {
    if (mkdir(path.c_str(), 0700) != 0 && errno != EEXIST) {
        return outcome::failed("cannot make the directory " + path + ": " + std::strerror(errno));
    }
    return check_private_directory(path, owner);
}

}  // namespace

outcome check_private_directory(const std::string& path, uid_t owner, int (*status_of)(const char*, struct stat*)) {
    struct stat found {};
    if ((status_of != nullptr ? status_of(path.c_str(), &found) : lstat(path.c_str(), &found)) != 0) {
        return outcome::failed(path + ": " + std::strerror(errno));
    }
    const std::string wanted = "; it is to be a directory of the user's own with mode 0700";
    if (S_ISLNK(found.st_mode)) return outcome::failed(path + " is a link" + wanted);
    if (!S_ISDIR(found.st_mode)) return outcome::failed(path + " is no directory" + wanted);
    if (found.st_uid != owner)
        return outcome::failed(path + " belongs to user " + std::to_string(found.st_uid) + wanted);
    if ((found.st_mode & 0077U) != 0) return outcome::failed(path + " is open to other users" + wanted);
    return {};
}

std::vector<std::string> control_directories(uid_t owner) {
    std::vector<std::string> out;
    const std::string user = std::to_string(owner);
    const char* const runtime = std::getenv("XDG_RUNTIME_DIR");
    if (runtime != nullptr && *runtime == '/') out.push_back(std::string(runtime) + "/prof");
    const std::string usual = "/run/user/" + user + "/prof";
    if (out.empty() || out.front() != usual) out.push_back(usual);
    out.push_back("/tmp/prof-" + user);
    return out;
}

result<std::string> make_control_directory() {
    const uid_t user = geteuid();
    const std::vector<std::string> directories = control_directories(user);
    outcome made;
    for (const std::string& directory : directories) {
        // Runtime directories are made by the system. One that is absent, or not private to the user, is not used.
        const std::string above = directory.substr(0, directory.rfind('/'));
        if (&directory != &directories.back() && !check_private_directory(above, user).ok()) continue;
        made = make_private(directory, user);
        if (made.ok() && control_socket_path(directory, getpid()).empty()) {
            made = outcome::failed(directory + " is too long a name for a socket's directory");
        }
        if (made.ok()) return directory;
    }
    return made;
}

std::string control_socket_path(const std::string& directory, pid_t pid) {
    std::string path = directory + "/" + std::to_string(pid) + std::string(socket_suffix);
    // Leaves room for the suffix that the socket has until it is ready.
    return path.size() + 5 < sizeof(sockaddr_un::sun_path) ? path : std::string{};
}

pid_t pid_of_control_socket(const std::string& file_name) noexcept {
    std::string_view rest = file_name;
    const std::optional<pid_t> pid = take_number<pid_t>(rest, 1);
    return rest == socket_suffix ? pid.value_or(0) : 0;
}

}  // namespace prof
