// SPDX-License-Identifier: Apache-2.0
// The names in a directory, without opendir(3), which calls malloc: libprof's own threads do not (own_memory.hpp).
#pragma once

#include <dirent.h>
#include <fcntl.h>
#include <unistd.h>

#include <array>
#include <cstddef>
#include <string>

namespace prof {

// Calls `see` with the directory's descriptor and each name, until all have been seen or one cannot be read. Calls
// nothing if the directory cannot be opened. Blocks on the disk.
template <typename TSee>
void see_names_in(const std::string& directory, TSee&& see) {
    const int fd = open(directory.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (fd < 0) return;
    alignas(dirent64) std::array<char, 2048> entries{};
    for (ssize_t bytes = 0; (bytes = getdents64(fd, entries.data(), entries.size())) > 0;) {
        for (std::size_t index = 0; index < static_cast<std::size_t>(bytes);) {
            const auto* const entry = reinterpret_cast<const dirent64*>(entries.data() + index);
            see(fd, static_cast<const char*>(entry->d_name));
            index += entry->d_reclen;
        }
    }
    close(fd);
}

}  // namespace prof
