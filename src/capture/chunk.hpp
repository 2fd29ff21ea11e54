// SPDX-License-Identifier: Apache-2.0
// A chunk of a capture as a reader delivers it, and what is wrong with a capture.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>

#include "capture/format.hpp"

namespace prof {

// Where a payload stands in the file, as it was delivered.
struct stored_payload {
    std::uint64_t offset = 0;
    std::uint32_t bytes = 0;
    std::uint32_t crc32 = 0;
};

struct chunk {
    format::chunk_type type{};
    std::uint64_t aux = 0;
    std::span<const std::byte> payload;  // inflated; 8-byte aligned; valid until the next call of next()
    bool recovered = false;              // true: from the rings, not from the file
    // The chunk is a key frame with which the capture begins. Anything delivered before it has been trimmed from the
    // file since then, and the caller must discard it.
    bool begins = false;
    std::optional<stored_payload> stored{};  // none if the payload was inflated or recovered
};

struct capture_damage {
    std::uint64_t bytes = 0;   // skipped
    std::uint64_t chunks = 0;  // lost, counted by gaps in the sequence numbers
    std::uint64_t unknown_chunks = 0;
    // Bytes of an incomplete chunk at the end of a file that was not closed, if the rings do not have that chunk.
    // Either the process died while writing it, or the file was cut later. Not counted above.
    std::uint64_t cut_off_bytes = 0;
    std::string first;  // the first damage in one line, with its offset; empty if none
};

}  // namespace prof
