// SPDX-License-Identifier: Apache-2.0
// Reads and checks chunk headers, in a capture file or in the buffer in which a writer assembled chunks.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <optional>
#include <span>

#include "capture/codec.hpp"
#include "capture/format.hpp"

namespace prof {

inline constexpr std::uint64_t chunk_alignment = 8;  // of every chunk in the file

// The first place at or after `offset` where a chunk may begin.
constexpr std::uint64_t chunk_place(std::uint64_t offset) noexcept {
    return (offset + chunk_alignment - 1) / chunk_alignment * chunk_alignment;
}

// The chunk header at the front of `bytes`; nothing unless it is intact.
inline std::optional<format::chunk_header> chunk_header_in(std::span<const std::byte> bytes) noexcept {
    format::chunk_header header;
    if (bytes.size() < sizeof header) return std::nullopt;
    std::memcpy(&header, bytes.data(), sizeof header);
    const auto checked = bytes.first(offsetof(format::chunk_header, header_crc32));
    if (header.magic != format::chunk_magic || header.header_crc32 != crc32_of(checked)) return std::nullopt;
    return header;
}

inline bool has_possible_lengths(const format::chunk_header& header) noexcept {
    return header.raw_bytes <= format::largest_chunk_bytes && header.stored_bytes <= format::largest_chunk_bytes &&
           ((header.flags & format::chunk_deflated) != 0 || header.stored_bytes == header.raw_bytes);
}

}  // namespace prof
