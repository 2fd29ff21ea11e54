// SPDX-License-Identifier: Apache-2.0
// Numbers that add up as they are printed, and the unit that all times of a step have. Pure functions.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

namespace prof {

// Whole numbers that add up to `total`, in proportion to `shares`: each is rounded, and where that leaves units over or
// short, numbers that lie between are rounded the other way, those first to which it is the least part of them: 63.4 is
// 64 before 0.4 is 1. Without shares above 0 all are 0. REQUIRES: shares >= 0.
std::vector<std::int64_t> apportioned(std::span<const double> shares, std::int64_t total);

struct unit_of_time {
    std::string_view name;
    double ns = 1;
};
// Microseconds below 1 ms, milliseconds below 10 s, seconds above.
constexpr unit_of_time unit_of_step(double step_ns) noexcept {
    if (step_ns < 1e6) return {"us", 1e3};
    if (step_ns < 1e10) return {"ms", 1e6};
    return {"s", 1e9};
}

}  // namespace prof
