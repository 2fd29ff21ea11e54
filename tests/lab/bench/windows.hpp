// SPDX-License-Identifier: Apache-2.0
// The figures of range_cost: medians over interleaved windows. Offline; costs nothing that is timed.
#pragma once

#include <algorithm>
#include <cstddef>
#include <vector>

namespace prof::bench {

// The value below which `share` of `values` lie; REQUIRES: there is one.
inline double quantile(std::vector<double> values, double share) {
    std::sort(values.begin(), values.end());
    const double place = share * static_cast<double>(values.size() - 1);
    const auto below = static_cast<std::size_t>(place);
    const std::size_t above = std::min(below + 1, values.size() - 1);
    return values[below] + (place - static_cast<double>(below)) * (values[above] - values[below]);
}

inline double median(std::vector<double> values) { return quantile(std::move(values), 0.5); }

// One line of the table: a kind of range in one state, a value a round.
struct series {
    std::vector<double> pair_ns;         // median of the window's bursts
    std::vector<double> above_floor_ns;  // less the same window's two clock reads

    void add_window(const std::vector<double>& bursts_ns, double floor_ns) {
        const double pair = median(bursts_ns);
        pair_ns.push_back(pair);
        above_floor_ns.push_back(pair - floor_ns);
    }
};

}  // namespace prof::bench
