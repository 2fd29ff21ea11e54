// SPDX-License-Identifier: Apache-2.0
#include "diagnose/step_gains.hpp"

#include <algorithm>
#include <numeric>
#include <utility>

namespace prof {
namespace {

std::int64_t largest_episode(const std::vector<std::int64_t>& gains_ns, std::size_t most) {
    const std::int64_t least_ns = std::max<std::int64_t>(gains_ns[most] / 10, 1);
    std::size_t first = most;
    std::size_t last = most;
    while (first > 0 && gains_ns[first - 1] >= least_ns) --first;
    while (last + 1 < gains_ns.size() && gains_ns[last + 1] >= least_ns) ++last;
    const auto begin = gains_ns.begin();
    return std::accumulate(begin + std::ptrdiff_t(first), begin + std::ptrdiff_t(last) + 1, std::int64_t{0});
}

// What a step loses again, the step before it has not gained: its gain becomes that of both. The sum stays. Returns for
// how many steps each one stands then: 0 for what became another's.
std::vector<std::int64_t> balance(std::vector<std::int64_t>& gains_ns) {
    std::vector<std::int64_t> widths(gains_ns.size(), 1);
    for (std::size_t i = gains_ns.size(); i-- > 1;) {
        if (gains_ns[i] >= 0) continue;
        gains_ns[i - 1] += std::exchange(gains_ns[i], 0);
        widths[i - 1] += std::exchange(widths[i], 0);
    }
    return widths;
}

}  // namespace

std::size_t few_of(std::size_t steps) noexcept { return std::max<std::size_t>(1, steps / 10); }

rare_gains find_rare_gains(std::vector<std::int64_t> gains_ns) {
    if (gains_ns.size() < 3) return {};
    const std::vector<std::int64_t> widths = balance(gains_ns);
    std::vector<std::size_t> order(gains_ns.size());
    std::iota(order.begin(), order.end(), std::size_t{0});
    std::stable_sort(order.begin(), order.end(),
                     [&](std::size_t a, std::size_t b) { return gains_ns[a] > gains_ns[b]; });
    std::size_t few = few_of(order.size());
    const bool adjoin = std::max(order[0], order[1]) - std::min(order[0], order[1]) == 1;
    if (few == 1 && adjoin) few = 2;

    std::int64_t others_ns = 0;
    std::int64_t others = 0;
    std::int64_t most_of_others_ns = 0;  // of a step
    for (std::size_t i = few; i < order.size(); ++i) {
        const std::int64_t width = widths[order[i]];
        if (width == 0) continue;
        others_ns += gains_ns[order[i]];
        others += width;
        most_of_others_ns = std::max(most_of_others_ns, gains_ns[order[i]] / width);
    }
    const std::int64_t mean_ns = std::max<std::int64_t>(others_ns, 0) / std::max<std::int64_t>(others, 1);
    rare_gains out;
    for (std::size_t i = 0; i < few; ++i) {
        const std::int64_t ns = gains_ns[order[i]];
        const std::int64_t width = std::max<std::int64_t>(widths[order[i]], 1);
        if (ns / 2 / width > most_of_others_ns) out.excess_ns += ns - width * mean_ns;
    }
    if (gains_ns[order[0]] > 0) out.largest_ns = largest_episode(gains_ns, order[0]);
    return out;
}

}  // namespace prof
