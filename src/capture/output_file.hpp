// The file under a capture_writer: created anew, written from the front to the end, by one thread at a time. Any thread
// may read what is written.
//
// It lives in somebody else's process, and so it minds what that process may do: raise the signal of a file size
// limit (never delivered), close descriptors that are not its own (then nothing is written, since the number may
// belong to another file by now), run with descriptors 0 to 2 closed (then it keeps off them).
#pragma once

#include <sys/types.h>

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

#include "base/own_descriptor.hpp"

namespace prof {

using write_function = ssize_t (*)(int, const void*, std::size_t);
using punch_function = int (*)(int descriptor, int mode, off_t offset, off_t length);  // as fallocate(2)

class output_file {
public:
    // Creates `path`; throws prof::error. `write` is write(2) but in tests.
    output_file(const std::string& path, write_function write);
    ~output_file();
    output_file(const output_file&) = delete;
    output_file& operator=(const output_file&) = delete;

    struct outcome {
        std::size_t written = 0;
        int error = 0;  // errno; 0 when all was written
    };
    outcome write_all(std::span<const std::byte> bytes) noexcept;
    // The bytes from `offset` on that are written: 0 or errno, EBADF if the program has closed the file, EIO where it
    // ends. Other threads may write meanwhile.
    int read_all(std::uint64_t offset, std::span<std::byte> to) const noexcept;
    // Gives the storage of the bytes [from, to) back; they read as zeros, and all others stay where they are. 0 or
    // errno: EOPNOTSUPP where the file system cannot.
    int punch(std::uint64_t from, std::uint64_t to, punch_function fallocate) noexcept;

    // It has no name any more: it will be gone as soon as it is closed.
    bool is_removed() const noexcept;
    // What has this name is this file, and no other that was put in its place.
    bool is_at(const std::string& path) const noexcept;

private:
    int descriptor_ = -1;
    file_identity file_;
    write_function write_;
};

}  // namespace prof
