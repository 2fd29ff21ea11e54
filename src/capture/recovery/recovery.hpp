// SPDX-License-Identifier: Apache-2.0
// Recovers what a dead process left in its rings and in CUPTI's buffers (ring/region_layout.hpp). The result is chunks
// that follow those of its capture.
//
// The rings' file is treated as hostile input, like the capture, and is never mapped or changed. Its process may still
// be running: then this is a snapshot, and records that were overwritten during the copy are left out. Memory: the size
// of what is found, by default at most 50 MB, and never more than largest_recovery_bytes.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "capture/format.hpp"
#include "capture/reader.hpp"

namespace prof {

inline constexpr std::size_t largest_recovery_bytes = 1U << 30;

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

struct recovery {
    std::vector<recovered_chunk> chunks;
    bool has_next_chunk = false;  // `chunks` includes the chunk that the file cuts off, or that would come next in it
    std::string outcome;          // one line: what was recovered from where, or why nothing was
};

// Whether such a line states that all records were recovered that the rings held.
bool is_whole_recovery(std::string_view outcome) noexcept;

// `id`: from the capture's header; the rings must carry the same, and contents.number. `copied`, for tests, is called
// after records were copied and before the check which of them were overwritten meanwhile.
recovery recover_rings(const std::array<std::uint8_t, 16>& id, const recovery_basis& contents,
                       const std::function<void()>& copied = {});

}  // namespace prof
