// A regular file read by position, through one buffer: what is asked for is read ahead, and is a view into the buffer.
//
// Read, not mapped: a mapping turns a file that shrinks meanwhile, or a disk that cannot read it, into a signal.
// One thread. The size is that of the moment of opening; what is added later is not seen.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>

#include "base/own_descriptor.hpp"

namespace prof {

class input_file {
public:
    explicit input_file(const std::string& path);  // throws prof::error
    ~input_file();
    input_file(const input_file&) = delete;
    input_file& operator=(const input_file&) = delete;

    std::uint64_t size() const noexcept { return size_; }

    // The bytes from `offset` on: `bytes` of them, fewer only where the file ends or cannot be read. 8-byte aligned
    // when the offset is a multiple of 8. Valid until the next call.
    std::span<const std::byte> view(std::uint64_t offset, std::size_t bytes);

    // Where from `offset` on the file holds something else than zeros, in whole words of 8 bytes; its end if nowhere.
    // Fast over what takes no storage. REQUIRES: offset is a multiple of 8.
    std::uint64_t skip_zeros(std::uint64_t offset);

    // Reads into `to` what the file holds there now, past the buffer. How many bytes it was: fewer as above.
    std::size_t read(std::uint64_t offset, std::span<std::byte> to) const noexcept;

private:
    int descriptor_ = -1;
    file_identity file_;  // the program may close it, and open one of its own under the number
    std::uint64_t size_ = 0;
    std::unique_ptr<std::byte[]> buffer_;
    std::size_t capacity_ = 0;
    std::uint64_t held_from_ = 0;  // the file's bytes [held_from_, held_from_ + held_) are in the buffer
    std::size_t held_ = 0;
};

}  // namespace prof
