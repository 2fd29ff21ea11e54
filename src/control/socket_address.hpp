// SPDX-License-Identifier: Apache-2.0
// The address of a Unix socket in the file system.
#pragma once

#include <sys/socket.h>
#include <sys/un.h>

#include <cstring>
#include <string>

namespace prof {

// REQUIRES: `path` is shorter than sun_path.
inline sockaddr_un socket_address(const std::string& path) noexcept {
    sockaddr_un out{};
    out.sun_family = AF_UNIX;
    std::memcpy(out.sun_path, path.c_str(), path.size() + 1);
    return out;
}

template <typename TCall>
int with_address(TCall call, int fd, const std::string& path) noexcept {
    const sockaddr_un address = socket_address(path);
    return call(fd, reinterpret_cast<const sockaddr*>(&address), sizeof address);
}

}  // namespace prof
