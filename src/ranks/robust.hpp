// SPDX-License-Identifier: Apache-2.0
// Middle and spread of values of which some may be far off. Pure functions.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <utility>
#include <vector>

namespace prof {

inline constexpr double confidence_95 = 1.96;  // standard deviations

// For an even number of values the mean of the middle two; 0 for none.
inline double median_of(std::vector<double> values) {
    if (values.empty()) return 0;
    const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
    std::nth_element(values.begin(), middle, values.end());
    if (values.size() % 2 != 0) return *middle;
    return (*std::max_element(values.begin(), middle) + *middle) / 2;
}

// The standard deviation, by the median distance from the median.
inline double deviation_of(const std::vector<double>& values) {
    const double middle = median_of(values);
    std::vector<double> apart;
    apart.reserve(values.size());
    for (const double each : values) apart.push_back(std::abs(each - middle));
    return 1.4826 * median_of(std::move(apart));
}

}  // namespace prof
