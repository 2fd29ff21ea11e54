// Where a capture_writer puts chunks together until write(2) has them in the file.
//
// In the rings' mapping if it can be (ring/region_layout.hpp: writing_header). The kernel cuts a write short where it
// kills the process, and some chunks exist nowhere else: what is in the mapping survives, and recovery goes on where
// the file ends (capture/recovery/unwritten.hpp). Else in memory of its own. One thread; in a child made by fork there
// is no room.
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
    // `shared`: a writing_header and the bytes behind it, of which at most `bytes` are used; not used if they are fewer
    // than `least` or another writer has them.
    write_buffer(std::span<std::byte> shared, std::size_t bytes, std::size_t least);
    ~write_buffer() { release(); }
    write_buffer(const write_buffer&) = delete;
    write_buffer& operator=(const write_buffer&) = delete;

    std::byte* data() const noexcept { return bytes_.data(); }
    std::size_t size() const noexcept { return bytes_.size(); }
    std::span<const std::byte> first(std::size_t count) const noexcept { return bytes_.first(count); }
    // False in a forked child: what is shared is the parent's.
    bool may_be_written() const noexcept { return shared_ == nullptr || ::getpid() == owner_; }

    // From now on it belongs to the capture that was created then.
    void begin(std::uint64_t created_realtime_ns) noexcept;
    // So many bytes of it are whole chunks that the file does not have, or not yet all of.
    void set_unwritten(std::size_t bytes) noexcept;
    // Another writer may have the shared memory. Nothing is written here afterwards.
    void release() noexcept;

private:
    const pid_t owner_ = ::getpid();
    writing_header* shared_ = nullptr;  // null: the bytes are our own
    std::vector<std::byte> own_;
    std::span<std::byte> bytes_;
};

}  // namespace prof
