// SPDX-License-Identifier: Apache-2.0
// How much of a recording the flight recorder keeps: the option `keep`.
#pragma once

#include <algorithm>
#include <cstdint>

namespace prof {

// How much is kept: at least `time_ns` of the recording, and at most `bytes` of the file apart from bursts. 0: no such
// limit. If both are given, the one that keeps less applies.
struct keep_limits {
    std::uint64_t time_ns = 0;
    std::uint64_t bytes = 0;

    bool any() const noexcept { return time_ns != 0 || bytes != 0; }

    // How much the texts of prof_keep_text may have together, with their keys. They are held in memory, and stay in the
    // file when what was recorded with them is trimmed.
    std::uint64_t most_text_bytes() const noexcept {
        constexpr std::uint64_t most = 16U << 20;
        return bytes == 0 ? most : std::min(bytes / 4, most);
    }
};

}  // namespace prof
