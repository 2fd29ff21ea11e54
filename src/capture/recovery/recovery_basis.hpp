// SPDX-License-Identifier: Apache-2.0
// What recovery begins with, and the chunks that it makes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "capture/chunk.hpp"
#include "capture/format.hpp"

namespace prof {

// What recovery needs to know about the content of the capture file.
struct recovery_basis {
    bool closed = false;
    std::string rings_path;
    std::set<std::uint64_t> threads;                      // uids of the thread chunks
    std::map<std::uint64_t, std::uint64_t> next_number;   // by thread uid: one past the last record
    std::map<std::uint32_t, std::uint64_t> drops;         // by cause: the latest count
    std::map<std::uint32_t, std::uint64_t> drops_before;  // by cause: what earlier recordings had counted
    // GPU records in the file: by the number of their buffer, and by the chunks' type.
    std::map<std::uint64_t, std::map<format::chunk_type, std::uint64_t>> buffers;
    std::uint32_t number = 0;         // of the file's header
    std::uint32_t next_sequence = 0;  // the sequence number that the file's next chunk would have
    std::uint64_t first_gpu_ns = 0;   // CUPTI's clock at its earliest and latest snapshot; 0: none
    std::uint64_t last_gpu_ns = 0;

    void add(const chunk& delivered);
};

struct recovered_chunk {
    format::chunk_type type{};
    std::uint64_t aux = 0;
    std::vector<std::uint64_t> words;  // the payload, aligned; the last word may be partly used
    std::size_t bytes = 0;

    chunk view() const noexcept;
};

}  // namespace prof
