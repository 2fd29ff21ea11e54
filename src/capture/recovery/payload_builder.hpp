// SPDX-License-Identifier: Apache-2.0
// Assembles the payload of a recovered chunk, part by part. Used by recovery.cpp, on one thread. Memory: the payload's.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <utility>
#include <vector>

#include "capture/recovery/recovery_basis.hpp"

namespace prof {

class payload_builder {
public:
    // Copies the bytes behind those that are there. Throws std::bad_alloc.
    void append(const void* bytes, std::size_t count) {
        words_.resize((bytes_ + count + sizeof(std::uint64_t) - 1) / sizeof(std::uint64_t));
        if (count != 0) std::memcpy(reinterpret_cast<std::byte*>(words_.data()) + bytes_, bytes, count);
        bytes_ += count;
    }
    std::size_t size() const noexcept { return bytes_; }

    // Returns the chunk, whose payload is aligned for 8-byte members, and begins an empty one. `aux`: as in
    // format::chunk_header.
    recovered_chunk finish(format::chunk_type type, std::uint64_t aux) {
        recovered_chunk done{type, aux, std::move(words_), bytes_};
        *this = {};
        return done;
    }

private:
    std::vector<std::uint64_t> words_;
    std::size_t bytes_ = 0;
};

}  // namespace prof
