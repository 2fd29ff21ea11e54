// SPDX-License-Identifier: Apache-2.0
// The file under a capture_writer. It is created anew and written front to end, by one thread at a time. Any thread may
// read what has been written.
//
// It exists inside a program that libprof does not control, and copes with three things that the program may do:
// - A file size limit: its signal is never delivered.
// - Closing foreign descriptors: then nothing is written any more, since the number may belong to another file.
// - Closed descriptors 0 to 2: these numbers are not used.
#pragma once

#include <sys/types.h>

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

#include "base/own_descriptor.hpp"

namespace prof {

using write_function = ssize_t (*)(int, const void*, std::size_t);
using punch_function = int (*)(int descriptor, int mode, off_t offset, off_t length);  // like fallocate(2)

class output_file {
public:
    // Creates `path`; throws prof::error. `write` is write(2) except in tests.
    output_file(const std::string& path, write_function write);
    ~output_file();
    output_file(const output_file&) = delete;
    output_file& operator=(const output_file&) = delete;

    struct outcome {
        std::size_t written = 0;
        int error = 0;  // errno; 0 if everything was written
    };
    outcome write_all(std::span<const std::byte> bytes) noexcept;
    // Reads written bytes from `offset` on. Returns 0 or errno: EBADF if the program has closed the file, EIO at its
    // end. Other threads may write at the same time.
    int read_all(std::uint64_t offset, std::span<std::byte> destination) const noexcept;
    // Frees the storage of the bytes [from, to): they then read as zeros, and all others keep their places. Returns 0
    // or errno; EOPNOTSUPP if the file system cannot do this.
    int punch(std::uint64_t begin, std::uint64_t end, punch_function fallocate) noexcept;

    // True if the file has no name any more, so that it disappears when it is closed.
    bool is_removed() const noexcept;
    // True if `path` names this very file, and not another one put in its place.
    bool is_at(const std::string& path) const noexcept;

private:
    int descriptor_ = -1;
    file_identity file_;
    write_function write_;
};

}  // namespace prof
