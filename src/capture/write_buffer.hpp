// SPDX-License-Identifier: Apache-2.0
// The memory in which a capture_writer assembles chunks, and where they stay until write(2) has put them into the file.
//
// It lies in the rings' mapping if possible (ring/region_layout.hpp: writing_header), else in memory of its own. The
// reason: the kernel cuts a write short when it kills the process, and some chunks exist nowhere else. What is in the
// mapping survives, and recovery continues where the file ends (capture/recovery/unwritten.hpp). Used by one thread. In
// a child made by fork it must not be written.
#pragma once

#include <unistd.h>

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "ring/region_layout.hpp"

namespace prof {

class write_buffer {
public:
    // `shared`: a writing_header and the bytes behind it, of which at most `bytes` are used. If there are fewer than
    // `least`, or another writer has them, the buffer uses memory of its own.
    write_buffer(std::span<std::byte> shared, std::size_t bytes, std::size_t least);
    ~write_buffer() { release(); }
    write_buffer(const write_buffer&) = delete;
    write_buffer& operator=(const write_buffer&) = delete;

    std::byte* data() const noexcept { return bytes_.data(); }
    std::size_t size() const noexcept { return bytes_.size(); }
    std::span<const std::byte> first(std::size_t count) const noexcept { return bytes_.first(count); }
    // False in a forked child, where shared memory belongs to the parent.
    bool may_be_written() const noexcept { return shared_ == nullptr || ::getpid() == owner_; }

    // From now on the buffer belongs to the capture of this number (format::file_header).
    void begin(std::uint32_t capture_number) noexcept;
    // The first `bytes` of the buffer are whole chunks that the file lacks, at least in part.
    void set_unwritten(std::size_t bytes) noexcept;
    // Gives the shared memory free for another writer. Nothing may be written here afterwards.
    void release() noexcept;

private:
    const pid_t owner_ = ::getpid();
    writing_header* shared_ = nullptr;  // null: the bytes are in own_
    std::vector<std::byte> own_;
    std::span<std::byte> bytes_;
};

}  // namespace prof
