// SPDX-License-Identifier: Apache-2.0
// Checksum and compression of chunks, by zlib. A deflater allocates memory when it is constructed, inflate_exactly() in
// each call.
#pragma once

#include <zlib.h>

#include <cstddef>
#include <cstdint>
#include <span>

#include "base/zlib_memory.hpp"

namespace prof {

// CRC-32 as in zlib, PNG and Ethernet.
std::uint32_t crc32_of(std::span<const std::byte> bytes) noexcept;
// Of `bytes` behind those whose checksum is `before`.
std::uint32_t crc32_after(std::uint32_t before, std::span<const std::byte> bytes) noexcept;

class deflater {
public:
    deflater();  // throws prof::error if out of memory
    ~deflater();
    deflater(const deflater&) = delete;
    deflater& operator=(const deflater&) = delete;

    // Writes the zlib stream of `in` to `out` and returns its size; 0 if it does not fit.
    std::size_t operator()(std::span<const std::byte> in, std::span<std::byte> out) noexcept;

private:
    z_stream stream_ = unbegun_stream<z_stream>();
};

// True if `in` is one whole zlib stream of exactly out.size() bytes, which are then in `out`. Never writes beyond
// `out`, so a stream that would inflate to more is refused at no extra cost.
bool inflate_exactly(std::span<const std::byte> in, std::span<std::byte> out) noexcept;

}  // namespace prof
