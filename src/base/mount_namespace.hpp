// SPDX-License-Identifier: Apache-2.0
// In which mount namespace this process is: in another one, as in a container, the same path may name another file.
#pragma once

#include <sys/stat.h>

#include <cstdint>

namespace prof {

// 0: unknown.
inline std::uint64_t mount_namespace() noexcept {
    struct stat status {};
    return stat("/proc/self/ns/mnt", &status) == 0 ? status.st_ino : 0;
}

}  // namespace prof
