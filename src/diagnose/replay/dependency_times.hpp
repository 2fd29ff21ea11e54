// SPDX-License-Identifier: Apache-2.0
// What the events, the waits and the needs of a dependency graph measure alike.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "base/statistics.hpp"

namespace prof::dependency_times {

inline constexpr std::int64_t clock_tolerance_ns = 1'000;  // by which the clocks of host and GPU may differ
// Above this a call that launches was held up, and an operation waited for another stream.
inline constexpr std::int64_t held_up_ns = 20'000;
inline constexpr std::size_t most_looked_at = 512;
inline constexpr std::size_t most_samples = 100'000;

inline std::int32_t narrow(std::int64_t ns) noexcept {
    return static_cast<std::int32_t>(std::clamp<std::int64_t>(ns, INT32_MIN, INT32_MAX));
}

inline std::int64_t median_or(std::vector<std::int64_t> values, std::int64_t otherwise) {
    return values.empty() ? otherwise : static_cast<std::int64_t>(median(std::move(values)));
}

}  // namespace prof::dependency_times
