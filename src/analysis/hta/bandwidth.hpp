// SPDX-License-Identifier: Apache-2.0
// The rate at which copies and sets moved bytes, by direction. Pure functions of a timeline; n log n in its copies.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "analysis/hta/describe.hpp"
#include "analysis/hta/scope.hpp"

namespace prof {

struct direction_bandwidth {
    std::string name;          // "Memcpy HtoD", …, "Memset"
    histogram<double> points;  // GB/s (10^9 bytes) after each change of HTA's time series, where above 0
    std::uint64_t operations = 0;
    std::uint64_t bytes = 0;
    std::int64_t busy_ns = 0;  // in which at least one of them ran
};

// By name. HTA's time series is the sum of the rates of all operations of a direction that run at once; its summary
// counts each change once, however long the rate held.
std::vector<direction_bandwidth> measure_bandwidth(const hta_input& input, hta_scope scope);

}  // namespace prof
