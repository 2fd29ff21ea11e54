// SPDX-License-Identifier: Apache-2.0
// A stable sort for elements that are nearly in order. Records of threads and GPUs are: each source is in order of time
// except for a few late elements. The elements are split into sorted sequences, which are then merged in pairs.
//
// Cost: n log s for n elements in s sequences, so linear for a single source. An element may be 32 places late without
// beginning a sequence of its own. Never slower than std::stable_sort by more than a constant factor. Memory: the
// shorter of two sequences while they are merged. A pure function; `less` is a strict weak order.
#pragma once

#include <algorithm>
#include <cstddef>
#include <iterator>
#include <vector>

namespace prof {

template <typename TElement, typename TLess>
void sort_nearly_sorted(std::vector<TElement>& elements, TLess less) {
    constexpr std::ptrdiff_t most_late = 32;          // places that an element may be moved back within its sequence
    constexpr std::size_t least_elements_a_run = 64;  // with shorter sequences, merging would cost more than sorting
    const auto begin = elements.begin();
    std::vector<std::size_t> bounds = {0};
    for (auto at = begin; at != elements.end(); ++at) {
        const auto run = begin + static_cast<std::ptrdiff_t>(bounds.back());
        if (at == run || !less(*at, *std::prev(at))) continue;
        const auto lowest = at - run > most_late ? at - most_late : run;
        if (lowest != run && less(*at, *lowest)) {
            bounds.push_back(static_cast<std::size_t>(at - begin));
            if (bounds.size() > least_elements_a_run && bounds.size() > elements.size() / least_elements_a_run) {
                return std::stable_sort(begin, elements.end(), less);
            }
        } else {
            std::rotate(std::upper_bound(lowest, at, *at, less), at, std::next(at));
        }
    }
    bounds.push_back(elements.size());
    while (bounds.size() > 2) {
        std::vector<std::size_t> merged = {0};
        for (std::size_t i = 2; i < bounds.size(); i += 2) {
            const auto place = [&](std::size_t bound) { return begin + static_cast<std::ptrdiff_t>(bound); };
            std::inplace_merge(place(bounds[i - 2]), place(bounds[i - 1]), place(bounds[i]), less);
            merged.push_back(bounds[i]);
        }
        if (merged.back() != elements.size()) merged.push_back(elements.size());
        bounds = std::move(merged);
    }
}

}  // namespace prof
