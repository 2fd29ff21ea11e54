// SPDX-License-Identifier: Apache-2.0
#include "diagnose/finding.hpp"

#include <algorithm>
#include <cstddef>

namespace prof {

std::string_view to_string(confidence value) noexcept {
    switch (value) {
        case confidence::low:
            return "low";
        case confidence::medium:
            return "medium";
        case confidence::high:
            break;
    }
    return "high";
}

void sort_findings(diagnosis& of) {
    constexpr double much = 0.05;  // of a step
    constexpr std::size_t most_before = 2;
    std::vector<finding>& all = of.findings;
    std::stable_sort(all.begin(), all.end(), [](const finding& a, const finding& b) { return a.gain_ns > b.gain_ns; });
    const auto is_sure = [](const finding& each) { return each.trust != confidence::low && !each.changes_results; };
    const auto rough = std::stable_partition(all.begin(), all.end(), is_sure);
    const auto third = all.begin() + std::min<std::ptrdiff_t>(rough - all.begin(), most_before);
    if (rough != all.end() && third != rough && of.share_of(rough->gain_ns) >= much)
        std::rotate(third, rough, rough + 1);
}

}  // namespace prof
