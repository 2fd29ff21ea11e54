// SPDX-License-Identifier: Apache-2.0
// A path as one types it: from the working directory, where it leads through that. Nothing is allocated with malloc
// but the text, since this runs in programs, too.
#pragma once

#include <unistd.h>

#include <array>
#include <climits>
#include <string>

namespace prof {

inline std::string path_from_here(const std::string& path) {
    std::array<char, PATH_MAX> directory{};
    if (getcwd(directory.data(), directory.size()) == nullptr) return path;
    std::string before(directory.data());
    if (before.back() != '/') before += '/';
    return path.size() > before.size() && path.starts_with(before) ? path.substr(before.size()) : path;
}

}  // namespace prof
