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
#include <string>
#include <string_view>
#include <vector>

#include "capture/recovery/recovery_basis.hpp"

namespace prof {

inline constexpr std::size_t largest_recovery_bytes = 1U << 30;

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
