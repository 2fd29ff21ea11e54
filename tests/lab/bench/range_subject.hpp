// SPDX-License-Identifier: Apache-2.0
// What range_cost measures: bursts of ranges, compiled as a user's code is, in a module of its own. The module is
// loaded twice under two names, and each copy has its own NVTX: one is initialised before any tool is there, the other
// after.
#pragma once

#include <cstdint>
#include <span>

namespace prof::bench {

struct range_kind {
    const char* title;
    const char* range_name;                                 // null: makes no range
    std::uint64_t (*burst_ticks)(unsigned pairs) noexcept;  // ticks that so many pairs take, one after the other
};

// The first is the floor: two clock reads in place of a pair.
using range_kinds_function = std::span<const range_kind>() noexcept;
inline constexpr const char* range_kinds_symbol = "prof_bench_range_kinds";

}  // namespace prof::bench
