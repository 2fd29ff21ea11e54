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

std::string make_private(const std::string& path, uid_t owner) {
    if (mkdir(path.c_str(), 0700) != 0 && errno != EEXIST) {
        return "cannot make the directory " + path + ": " + std::strerror(errno);
    }
    return private_directory_problem(path, owner);
}

}  // namespace

std::string private_directory_problem(const std::string& path, uid_t owner, int (*look)(const char*, struct stat*)) {
    struct stat found {};
    if ((look != nullptr ? look(path.c_str(), &found) : lstat(path.c_str(), &found)) != 0) {
        return path + ": " + std::strerror(errno);
    }
    const std::string wanted = "; it is to be a directory of the user's own with mode 0700";
    if (S_ISLNK(found.st_mode)) return path + " is a link" + wanted;
    if (!S_ISDIR(found.st_mode)) return path + " is no directory" + wanted;
    if (found.st_uid != owner) return path + " belongs to user " + std::to_string(found.st_uid) + wanted;
    if ((found.st_mode & 0077U) != 0) return path + " is open to other users" + wanted;
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

std::string make_control_directory(std::string& problem) {
    const uid_t user = geteuid();
    const std::vector<std::string> directories = control_directories(user);
    for (const std::string& directory : directories) {
        // Runtime directories are made by the system. One that is absent, or not private to the user, is not used.
        const std::string above = directory.substr(0, directory.rfind('/'));
        if (&directory != &directories.back() && !private_directory_problem(above, user).empty()) continue;
        problem = make_private(directory, user);
        if (problem.empty() && control_socket_path(directory, getpid()).empty()) {
            problem = directory + " is too long a name for a socket's directory";
        }
        if (problem.empty()) return directory;
    }
    return {};
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
