// SPDX-License-Identifier: Apache-2.0
// The mean of values. A pure function.
#pragma once

#include <numeric>
#include <span>

namespace prof {

// REQUIRES: there is one.
inline double mean_of(std::span<const double> values) {
    return std::accumulate(values.begin(), values.end(), 0.0) / static_cast<double>(values.size());
}

}  // namespace prof
