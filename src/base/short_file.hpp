// The text of a file of the kernel's, or another short one.
#pragma once

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <string>

#include "base/own_descriptor.hpp"

namespace prof {

// "" if it cannot be read. Where the program closes all files meanwhile none of its own is read or closed, as a stream
// of the C++ library would.
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
