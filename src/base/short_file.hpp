// SPDX-License-Identifier: Apache-2.0
// Reads short files, such as those of /proc. Blocks as long as the file system does; not for the hot path. Any thread.
#pragma once

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <string>

#include "base/own_descriptor.hpp"

namespace prof {

// The file's content; "" if it cannot be read. If the program closes all descriptors meanwhile, this neither reads nor
// closes a file of the program's, as a C++ stream would.
inline std::string text_of_file(const std::string& path) {
    own_descriptor file;
    file.take(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
    std::string out;
    char part[4096];
    for (int number = file.get(); number >= 0; number = file.get()) {
        const ssize_t got = ::read(number, part, sizeof part);
        if (got == 0 || (got < 0 && errno != EINTR)) break;
        if (got > 0) out.append(part, static_cast<std::size_t>(got));
    }
    file.close();
    return out;
}

}  // namespace prof
