// The texts of range names that are about to be freed (record/passing_names.hpp), as far as records that the drain
// thread keeps for long have them: ranges that are open, and those around the nodes of CUDA graphs.
//
// Belongs to the drain thread. Memory follows the records that are kept, which are bounded.
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
    // Before the names at positions below `end` are freed. `visit_ids(use)` calls use(id) for each name of a record
    // that is kept; what no record has any more is forgotten. Throws std::bad_alloc: then some are lost.
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
    std::unordered_map<std::uint32_t, std::string> texts_;  // by id
};

}  // namespace prof
