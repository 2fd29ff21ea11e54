// SPDX-License-Identifier: Apache-2.0
// Copies of the texts of range names that are about to be freed (record/passing_names.hpp), for the records that the
// drain thread keeps for long: open ranges, and ranges around the nodes of CUDA graphs.
//
// Used by the drain thread only. Memory follows the number of kept records, which is bounded.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>

#include "ring/region.hpp"

namespace prof {

class held_names {
public:
    // Call before the names at positions below `end` are freed. `visit_ids(use)` must call use(id) for each name of a
    // kept record; texts that no kept record uses are discarded. Throws std::bad_alloc; then some texts are lost.
    template <typename TVisitIds>
    void hold(region& where, std::uint64_t end, TVisitIds&& visit_ids) {
        std::unordered_map<std::uint32_t, std::string> before;
        before.swap(texts_);
        visit_ids([&](std::uint32_t id) {
            std::uint64_t position = 0;
            if (!is_passing(id)) return;
            if (where.passing().position_of(id, position)) {
                if (position < end) texts_.try_emplace(id, where.passing().text(id));
            } else if (auto known = before.extract(id)) {
                texts_.insert(std::move(known));
            }
        });
    }

    std::string_view text(std::uint32_t id) const noexcept {
        const auto found = texts_.find(id);
        return found == texts_.end() ? std::string_view{} : std::string_view{found->second};
    }
    std::size_t size() const noexcept { return texts_.size(); }

private:
    std::unordered_map<std::uint32_t, std::string> texts_;  // key: name id
};

}  // namespace prof
