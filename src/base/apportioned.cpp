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
    std::vector<std::pair<double, std::size_t>> lost;
    std::int64_t left = total;
    for (std::size_t i = 0; i < shares.size(); ++i) {
        const double exact = shares[i] / sum * static_cast<double>(total);
        out[i] = static_cast<std::int64_t>(std::floor(exact));
        left -= out[i];
        if (shares[i] > 0) lost.emplace_back(static_cast<double>(out[i]) - exact, i);
    }
    std::stable_sort(lost.begin(), lost.end(), [](const auto& a, const auto& b) { return a.first < b.first; });
    for (std::size_t i = 0; left > 0; i = (i + 1) % lost.size(), --left) ++out[lost[i].second];
    for (std::size_t i = lost.size(); left < 0 && i-- > 0;) {  // rounding of large numbers
        if (out[lost[i].second] == 0) continue;
        --out[lost[i].second];
        ++left;
    }
    return out;
}

}  // namespace prof
