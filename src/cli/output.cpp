// SPDX-License-Identifier: Apache-2.0
#include "cli/output.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <filesystem>
#include <system_error>

#include "base/json_text.hpp"
#include "capture/format.hpp"

namespace prof {
namespace {

bool begins_like_a_capture(const std::string& path) {
    const int file = open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
    if (file < 0) return false;
    std::array<char, format::magic.size()> bytes{};
    const ssize_t got = read(file, bytes.data(), bytes.size());
    close(file);
    return got == static_cast<ssize_t>(bytes.size()) && bytes == format::magic;
}

}  // namespace

outcome check_output(const std::string& output, const std::vector<std::string>& inputs) {
    struct stat existing {};
    // Only a file that exists can be overwritten; a terminal, a pipe or a device loses nothing.
    if (output.empty() || stat(output.c_str(), &existing) != 0 || !S_ISREG(existing.st_mode)) return {};
    for (const std::string& input : inputs) {
        struct stat status {};
        if (stat(input.c_str(), &status) != 0 || status.st_dev != existing.st_dev || status.st_ino != existing.st_ino) {
            continue;
        }
        return outcome::failed("the output " + terminal_safe(output) +
                               " is the file that is to be read; choose another name");
    }
    if (!output.ends_with(".prof") && !begins_like_a_capture(output)) return {};
    return outcome::failed("the output " + terminal_safe(output) +
                           " is a capture, which is never overwritten; choose another name, or remove it first");
}

outcome check_place(const std::string& output) {
    struct stat existing {};
    const bool exists = stat(output.c_str(), &existing) == 0;
    if (exists && S_ISDIR(existing.st_mode)) return outcome::failed(terminal_safe(output) + " is a directory");
    // A regular file is replaced as a whole, in its directory; others are written in place.
    std::string place = output;
    if (!exists || S_ISREG(existing.st_mode)) place = std::filesystem::path(output).parent_path().string();
    if (place.empty()) place = ".";
    if (access(place.c_str(), W_OK) == 0) return {};
    return outcome::failed("cannot write " + terminal_safe(output) + ": " + std::generic_category().message(errno));
}

}  // namespace prof
