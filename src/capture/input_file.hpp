// SPDX-License-Identifier: Apache-2.0
// Reads a regular file at any position, through one read-ahead buffer. Results are views into that buffer.
//
// The file is read, not mapped: with a mapping, a file that shrinks or a disk error would raise a signal. Used by one
// thread. The size is that at opening; data appended later is not visible.
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

    // A view of `bytes` bytes from `offset` on; fewer only if the file ends or cannot be read. 8-byte aligned if
    // `offset` is a multiple of 8. Valid until the next call.
    std::span<const std::byte> view(std::uint64_t offset, std::size_t bytes);

    // The first word of 8 bytes at or after `offset` that is not all zeros; the end of the file if there is none. Holes
    // that take no storage cost no time. REQUIRES: `offset` is a multiple of 8.
    std::uint64_t skip_zeros(std::uint64_t offset);

    // Reads the file's present content into `destination`, bypassing the buffer. Returns the number of bytes; fewer
    // than asked in the same cases as view().
    std::size_t read(std::uint64_t offset, std::span<std::byte> destination) const noexcept;

private:
    int descriptor_ = -1;
    file_identity file_;  // detects that the program closed the descriptor and reused its number
    std::uint64_t size_ = 0;
    std::unique_ptr<std::byte[]> buffer_;
    std::size_t capacity_ = 0;
    std::uint64_t held_from_ = 0;  // the file's bytes [held_from_, held_from_ + held_) are in the buffer
    std::size_t held_ = 0;
};

}  // namespace prof
