// SPDX-License-Identifier: Apache-2.0
// Counts the names that folding merges into one row. Distinguishes counters from kinds: a counter has many names or few
// instances of each, whereas a few names that recur often are different things.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

namespace prof {

class merged_names {
public:
    void add(std::uint32_t name) {
        const auto known =
            std::find_if(counts_.begin(), counts_.end(), [&](const auto& count) { return count.first == name; });
        if (known != counts_.end()) {
            ++known->second;
        } else if (counts_.size() <= few) {
            counts_.emplace_back(name, 1);
        }
    }

    // The number of names if they are different things, else 0.
    std::uint32_t different() const {
        const bool all_recur =
            std::all_of(counts_.begin(), counts_.end(), [](const auto& count) { return count.second >= many; });
        return counts_.size() > 1 && counts_.size() <= few && all_recur ? static_cast<std::uint32_t>(counts_.size())
                                                                        : 0;
    }

private:
    static constexpr std::size_t few = 8;
    static constexpr std::uint64_t many = 10;

    std::vector<std::pair<std::uint32_t, std::uint64_t>> counts_;  // name → count; at most one more than `few`
};

}  // namespace prof
