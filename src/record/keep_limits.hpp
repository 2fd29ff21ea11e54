// SPDX-License-Identifier: Apache-2.0
// How much of a recording the flight recorder keeps: the option `keep`.
#pragma once

#include <cstdint>

namespace prof {

// How much is kept: at least `time_ns` of the recording, and at most `bytes` of the file apart from bursts. 0: no such
// limit. If both are given, the one that keeps less applies.
struct keep_limits {
    std::uint64_t time_ns = 0;
    std::uint64_t bytes = 0;

    bool any() const noexcept { return time_ns != 0 || bytes != 0; }
};

}  // namespace prof
