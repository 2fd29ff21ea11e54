// SPDX-License-Identifier: Apache-2.0
// Cleans up after processes that were killed: what the files of their rings still hold is put into their captures, and
// the files, which are mostly in memory, are removed. Works on files of this user whose process is gone, and that
// nobody is about to seal: a lock on the file and the process number decide. Where the capture is not in its place, it
// may have been moved, and may be recovered there: the file stays for a day after that was first seen, and for good if
// its process was in another mount namespace.
#pragma once

#include <cstddef>
#include <cstdint>
#include <ctime>
#include <string>

namespace prof {

struct cleaned_rings {
    std::size_t sealed = 0;   // captures that were completed
    std::size_t removed = 0;  // files whose capture was closed before, is long gone, or never was
    std::uint64_t bytes = 0;  // of memory or disk that was freed
};

// The files in `directory`. Those of another version of libprof stay, and those that cannot be sealed.
cleaned_rings clean_left_rings(const std::string& directory, std::time_t now = std::time(nullptr));

}  // namespace prof
