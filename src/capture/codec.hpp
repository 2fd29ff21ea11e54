// Checksum and compression of chunks, by zlib. The deflater allocates once, when it is made; nothing else allocates.
#pragma once

#include <zlib.h>

#include <cstddef>
#include <cstdint>
#include <span>

namespace prof {

// The CRC-32 of zlib, PNG and Ethernet.
std::uint32_t crc32_of(std::span<const std::byte> bytes) noexcept;

class deflater {
public:
    deflater();  // throws prof::error when there is no memory for it
    ~deflater();
    deflater(const deflater&) = delete;
    deflater& operator=(const deflater&) = delete;

    // The size of the zlib stream written to `out`, or 0 when it would not fit there.
    std::size_t operator()(std::span<const std::byte> in, std::span<std::byte> out) noexcept;

private:
    z_stream stream_{};
};

// Whether `in` is one whole zlib stream of exactly out.size() bytes, now in `out`. Writes no byte beyond it, so a
// stream that would inflate to more costs nothing.
bool inflate_exactly(std::span<const std::byte> in, std::span<std::byte> out) noexcept;

}  // namespace prof
