// SPDX-License-Identifier: Apache-2.0
#include "compare/corrections.hpp"

#include <algorithm>
#include <cstddef>
#include <numeric>

namespace prof {
namespace {

std::vector<std::size_t> ascending(std::span<const double> values) {
    std::vector<std::size_t> out(values.size());
    std::iota(out.begin(), out.end(), std::size_t{0});
    std::stable_sort(out.begin(), out.end(), [&](std::size_t a, std::size_t b) { return values[a] < values[b]; });
    return out;
}

}  // namespace

std::vector<double> benjamini_hochberg(std::span<const double> probabilities) {
    const std::vector<std::size_t> order = ascending(probabilities);
    std::vector<double> out(probabilities.size());
    double least = 1;
    for (std::size_t rank = order.size(); rank-- != 0;) {
        const double factor = static_cast<double>(order.size()) / static_cast<double>(rank + 1);
        least = std::min(least, factor * probabilities[order[rank]]);
        out[order[rank]] = least;
    }
    return out;
}

std::vector<double> holm(std::span<const double> probabilities) {
    const std::vector<std::size_t> order = ascending(probabilities);
    std::vector<double> out(probabilities.size());
    double largest = 0;
    for (std::size_t rank = 0; rank < order.size(); ++rank) {
        largest = std::max(largest, static_cast<double>(order.size() - rank) * probabilities[order[rank]]);
        out[order[rank]] = std::min(1.0, largest);
    }
    return out;
}

}  // namespace prof
