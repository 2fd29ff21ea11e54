// SPDX-License-Identifier: Apache-2.0
#include "session/process/capture_place.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

namespace prof {
namespace {

// A name from outside must not lead out of the output directory.
std::string as_file_name(std::string text) {
    for (char& c : text) {
        if (c == '/' || static_cast<unsigned char>(c) < 0x20 || c == 0x7F) c = '_';
    }
    if (text.size() > 128) text.resize(128);
    return text;
}

}  // namespace

bool is_taken(const std::string& path) noexcept {
    return faccessat(AT_FDCWD, path.c_str(), F_OK, AT_SYMLINK_NOFOLLOW) == 0;
}

std::string unused_capture_path(const session_options& options, const process_facts& facts) {
    const std::string stem = options.output_dir + "/" + as_file_name(facts.name) + "." + facts.rank + "." +
                             as_file_name(facts.hostname) + "-" + std::to_string(getpid());
    std::string path = stem + ".prof";
    for (int number = 2; is_taken(path); ++number) {
        path = stem + "." + std::to_string(number) + ".prof";
    }
    return path;
}

outcome make_directories(const std::string& path) {
    for (std::size_t position = 0; position != std::string::npos;) {
        position = path.find('/', position + 1);
        const std::string part = path.substr(0, position);
        if (mkdir(part.c_str(), 0777) != 0 && errno != EEXIST) {
            const int reason = errno;
            struct stat status {};
            if (stat(part.c_str(), &status) == 0) continue;  // it exists, but may not be made (a read-only mount)
            return outcome::failed("cannot make the directory " + part + ": " + std::strerror(reason));
        }
    }
    return {};
}

outcome prepare_directory(const std::string& path) {
    if (outcome made = make_directories(path); !made.ok()) return made;
    struct stat status {};
    int reason = stat(path.c_str(), &status) == 0 ? 0 : errno;
    if (reason == 0 && !S_ISDIR(status.st_mode)) reason = ENOTDIR;
    if (reason == 0 && faccessat(AT_FDCWD, path.c_str(), W_OK | X_OK, AT_EACCESS) != 0) reason = errno;
    if (reason != 0) return outcome::failed("cannot make captures in " + path + ": " + std::strerror(reason));
    return {};
}

}  // namespace prof
