// SPDX-License-Identifier: Apache-2.0
// Where steps that are ranges end. Pure; linear in the steps.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace prof {

// The beginning of the range after a step's, if the time between them may belong to the step.
inline constexpr std::int64_t nothing_follows = INT64_MIN;

// REQUIRES: `steps` end with their ranges; `next_ns` has, for each, the beginning of the next range or nothing_follows.
// A step lasts until the next one begins. A gap that is unusual, as an evaluation between two epochs, belongs to no
// step: it is longer than a tenth of the step's range, and than twice the median gap; so is one longer than half of it.
template <typename TStep>
void extend_to_next(std::vector<TStep>& steps, const std::vector<std::int64_t>& next_ns) {
    std::vector<std::int64_t> gaps_ns;
    for (std::size_t i = 0; i < steps.size(); ++i) {
        if (next_ns[i] != nothing_follows) gaps_ns.push_back(next_ns[i] - steps[i].end_ns);
    }
    if (gaps_ns.empty()) return;
    const auto middle = gaps_ns.begin() + static_cast<std::ptrdiff_t>((gaps_ns.size() - 1) / 2);
    std::nth_element(gaps_ns.begin(), middle, gaps_ns.end());
    const std::int64_t usual_ns = 2 * *middle;
    for (std::size_t i = 0; i < steps.size(); ++i) {
        TStep& step = steps[i];
        if (next_ns[i] == nothing_follows) continue;
        const std::int64_t length_ns = step.end_ns - step.start_ns;
        const std::int64_t longest_ns = std::max(length_ns / 10, std::min(length_ns / 2, usual_ns));
        if (next_ns[i] - step.end_ns <= longest_ns) step.end_ns = next_ns[i];
    }
}

}  // namespace prof
