// What the tables by name say of a set of durations.
#pragma once

#include <algorithm>
#include <cstdint>
#include <numeric>
#include <vector>

#include "analysis/kernels.hpp"
#include "analysis/statistics.hpp"

namespace prof {

// `durations_ns` is not empty.
inline duration_statistics summarize(const std::vector<std::int64_t>& durations_ns) {
    const auto [shortest, longest] = std::minmax_element(durations_ns.begin(), durations_ns.end());
    return {.instances = durations_ns.size(),
            .total_ns = std::accumulate(durations_ns.begin(), durations_ns.end(), std::int64_t{0}),
            .min_ns = *shortest,
            .median_ns = median(durations_ns),
            .mean_ns = mean(durations_ns),
            .max_ns = *longest,
            .stddev_ns = sample_stddev(durations_ns)};
}

inline double share_of(std::int64_t part_ns, std::int64_t total_ns) noexcept {
    return total_ns == 0 ? 0 : static_cast<double>(part_ns) / static_cast<double>(total_ns);
}

}  // namespace prof
