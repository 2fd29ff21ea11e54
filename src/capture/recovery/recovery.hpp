// What a process that died left in its rings and in CUPTI's buffers (ring/region_layout.hpp), as chunks to read after
// those of its capture.
//
// The rings' file is read with as much distrust as the capture, and never mapped or changed. It may be that of a live
// process: then this is a snapshot, and what was overwritten while it was taken is left out. Costs the memory of what
// is found: by default at most 50 MB, whatever the file says at most largest_recovery_bytes.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "capture/format.hpp"
#include "capture/reader.hpp"

namespace prof {

inline constexpr std::size_t largest_recovery_bytes = 1U << 30;

// How many records of one buffer of CUPTI's the file has: the first ones.
struct gpu_record_counts {
    std::uint64_t kernels = 0;
    std::uint64_t transfers = 0;
    std::uint64_t graphs = 0;
    std::uint64_t devices = 0;
};

// What the capture's file holds, as far as recovery must know it.
struct recovery_basis {
    bool closed = false;
    std::string rings_path;
    std::set<std::uint64_t> threads;                      // uids of the thread chunks
    std::map<std::uint64_t, std::uint64_t> next_number;   // by thread uid: one past the last record
    std::map<std::uint32_t, std::uint64_t> drops;         // by cause: the latest count
    std::map<std::uint32_t, std::uint64_t> drops_before;  // by cause: what earlier recordings had counted
    std::map<std::uint64_t, gpu_record_counts> buffers;   // by number
    std::uint64_t created_realtime_ns = 0;                // of the file's header
    std::uint32_t next_sequence = 0;                      // of the chunk that would come next in the file
    std::uint64_t first_gpu_ns = 0;                       // CUPTI's clock at the first and the last snapshot; 0: none
    std::uint64_t last_gpu_ns = 0;

    void add(const chunk& delivered);
};

struct recovered_chunk {
    format::chunk_type type{};
    std::uint64_t aux = 0;
    std::vector<std::uint64_t> words;  // the payload, aligned; the last word may be used in part
    std::size_t bytes = 0;

    chunk view() const noexcept;
};

struct recovery {
    std::vector<recovered_chunk> chunks;
    bool has_next_chunk = false;  // the one that the file's end cuts off, or that would have come next
    std::string outcome;          // one line: what was recovered from where, or why nothing was
};

// `id` is that of the capture's header: the rings must carry the same. `copied`, for tests, is called when records have
// been copied and it has not yet been looked which of them were overwritten meanwhile.
recovery recover_rings(const std::array<std::uint8_t, 16>& id, const recovery_basis& contents,
                       const std::function<void()>& copied = {});

}  // namespace prof
