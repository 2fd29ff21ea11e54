// SPDX-License-Identifier: Apache-2.0
// From when on a call, or the time between two calls, has its line recorded. Any thread; one load and a comparison.
#pragma once

#include <atomic>
#include <cstdint>

namespace prof {

// In ticks. UINT64_MAX: no lines are recorded.
struct line_bounds {
    std::atomic<std::uint64_t> call{UINT64_MAX};
    std::atomic<std::uint64_t> stretch{UINT64_MAX};
};
inline line_bounds bounds_of_lines;

// relaxed: a plain number.
inline bool are_lines_recorded() noexcept { return bounds_of_lines.call.load(std::memory_order_relaxed) != UINT64_MAX; }
// Whether what took so many ticks has a stack. relaxed: a plain number.
inline bool is_long_call(std::uint64_t ticks) noexcept {
    return ticks > bounds_of_lines.call.load(std::memory_order_relaxed);
}
inline bool is_long_stretch(std::uint64_t ticks) noexcept {
    return ticks > bounds_of_lines.stretch.load(std::memory_order_relaxed);
}

}  // namespace prof
