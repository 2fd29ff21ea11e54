// SPDX-License-Identifier: Apache-2.0
#include "base/apportioned.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <utility>

namespace prof {

std::vector<std::int64_t> apportioned(std::span<const double> shares, std::int64_t total) {
    std::vector<std::int64_t> out(shares.size(), 0);
    double sum = 0;
    for (const double share : shares) sum += share;
    if (!(sum > 0) || total <= 0) return out;
    std::vector<double> exact(shares.size());
    std::int64_t left = total;
    for (std::size_t i = 0; i < shares.size(); ++i) {
        exact[i] = shares[i] / sum * static_cast<double>(total);
        out[i] = std::llround(exact[i]);
        left -= out[i];
    }
    // Those that were rounded away from where the units go: at least twice as many as there are units.
    const std::int64_t unit = left < 0 ? -1 : 1;
    std::vector<std::pair<double, std::size_t>> candidates;  // the relative error with a unit
    for (std::size_t i = 0; i < shares.size(); ++i) {
        const double rest = (exact[i] - static_cast<double>(out[i])) * static_cast<double>(unit);
        if (rest > 0 && shares[i] > 0) candidates.emplace_back((1 - rest) / exact[i], i);
    }
    std::stable_sort(candidates.begin(), candidates.end(),
                     [](const auto& a, const auto& b) { return a.first < b.first; });
    for (std::size_t i = 0; left != 0 && i < candidates.size(); ++i, left -= unit) out[candidates[i].second] += unit;
    // What doubles cannot tell apart, of large numbers.
    if (left != 0) *std::max_element(out.begin(), out.end()) += left;
    return out;
}

}  // namespace prof
