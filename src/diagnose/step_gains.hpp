// SPDX-License-Identifier: Apache-2.0
// What each step would gain from a change: whether most of them would, or a few that were held up once. Pure functions.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace prof {

// What is in no more than so many of the steps is rare.
std::size_t few_of(std::size_t steps) noexcept;

struct rare_gains {
    // What a few steps (few_of) gain more than the mean of the others, if they gain more than twice as much as any
    // other. What the steps after one lose again, it has not gained. If two of less than 20 steps adjoin, they count as
    // one: what holds up a program touches both.
    std::int64_t excess_ns = 0;
    // Of the step that gains most, and those around it that gain at least a tenth of that.
    std::int64_t largest_ns = 0;
};
rare_gains find_rare_gains(std::vector<std::int64_t> gains_ns);

}  // namespace prof
