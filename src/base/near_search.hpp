// SPDX-License-Identifier: Apache-2.0
// Binary search that begins near the place of the search before. Pure functions.
#pragma once

#include <cstddef>

namespace prof {

// The first of the places [0, count) for which is_before(place) does not hold; `count` if it holds for all. REQUIRES:
// it holds for no place behind such a one. Cost: the logarithm of the distance to `hint`, which may be any number.
template <typename TIsBefore>
std::size_t partition_point_near(std::size_t count, std::size_t hint, TIsBefore&& is_before) {
    std::size_t below = 0;  // is_before() holds for the places before it
    std::size_t end = count;
    for (std::size_t step = 1, at = hint; at < end; at += step, step *= 2) {
        if (!is_before(at)) {
            end = at;
            break;
        }
        below = at + 1;
    }
    if (below == 0) {
        for (std::size_t step = 1, at = end; at > 0; step *= 2) {
            at = at > step ? at - step : 0;
            if (is_before(at)) {
                below = at + 1;
                break;
            }
            end = at;
        }
    }
    while (below < end) {
        const std::size_t middle = below + (end - below) / 2;
        if (is_before(middle)) {
            below = middle + 1;
        } else {
            end = middle;
        }
    }
    return below;
}

}  // namespace prof
