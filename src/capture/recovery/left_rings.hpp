// SPDX-License-Identifier: Apache-2.0
// Cleans up after processes that were killed: what the files of their rings still hold is put into their captures, and
// the files, which are mostly in memory, are removed. Works on files of this user whose process is gone, and that
// nobody is about to seal: a lock on the file and the process number decide.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

namespace prof {

struct cleaned_rings {
    std::size_t sealed = 0;   // captures that were completed
    std::size_t removed = 0;  // files whose capture was closed before, does not exist any more, or never did
    std::uint64_t bytes = 0;  // of memory or disk that was freed
};

// The files in `directory`. Those of another version of libprof stay, and those that cannot be sealed.
cleaned_rings clean_left_rings(const std::string& directory);

}  // namespace prof
