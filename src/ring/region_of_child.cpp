// SPDX-License-Identifier: Apache-2.0
// What the region of a forked child takes over from its parent's. The parent goes on running and adds to its region.
// What it adds after the fork may or may not be taken over.
#include <algorithm>

#include "ring/region.hpp"

namespace prof {

void region::inherit(region& parent, bool calls) noexcept {
    records_calls_ = calls;
    const std::uint32_t committed = names_.committed_bytes();
    const std::uint32_t limit = names_.arena_bytes();
    if (committed < limit && allocate(arena_file_offset_ + committed, limit - committed) == 0) names_.commit(limit);
    names_.take_over(parent.names_);
    // relaxed: all that was stored before the fork is visible.
    const std::uint32_t reserved = parent.header_->labels_reserved.load(std::memory_order_relaxed);
    for (std::uint32_t i = 0; i < std::min(reserved, parent.header_->label_capacity); ++i) {
        label known;
        if (parent.label_at(i, known) && known.kind != label_kind::thread) {
            add_label(known.kind, known.key, known.name);
        }
    }
    for (std::size_t i = 0; i < domain_names_.size(); ++i) {
        domain_names_[i].store(parent.domain_names_[i].load(std::memory_order_relaxed), std::memory_order_relaxed);
    }
    // relaxed: as above.
    header_->domain_count.store(parent.header_->domain_count.load(std::memory_order_relaxed),
                                std::memory_order_relaxed);
}

}  // namespace prof
