// SPDX-License-Identifier: Apache-2.0
#include "collect/name_writer.hpp"

#include <algorithm>
#include <utility>

namespace prof {
namespace {

constexpr std::uint32_t entry_alignment = 8;

}  // namespace

name_writer::name_writer(region& where, finder held)
    : region_(where),
      held_(std::move(held)),
      kept_(where.names().arena_bytes() / entry_alignment + 1),
      passing_(where.passing().arena_bytes() / entry_alignment) {}

void name_writer::begin_anew() {
    std::fill(kept_.begin(), kept_.end(), false);
    std::fill(passing_.begin(), passing_.end(), false);
    freed_.clear();
}

// A name is marked only after add() has queued it, so that no name is skipped when an allocation throws.
void name_writer::use(std::uint32_t id) {
    if (id == 0) return;
    if (!is_passing(id)) {
        if (id >= kept_.size() || kept_[id]) return;
        add(id, region_.names().text(id));
        kept_[id] = true;
        return;
    }
    std::uint64_t position = 0;
    if (!region_.passing().position_of(id, position)) {
        if (freed_.contains(id)) return;
        add(id, held_(id));
        freed_.insert(id);
        return;
    }
    const std::size_t place = (position & (region_.passing().arena_bytes() - 1)) / entry_alignment;
    if (passing_[place]) return;
    add(id, region_.passing().text(id));
    passing_[place] = true;
}

void name_writer::add(std::uint32_t id, std::string_view text) {
    if (text.empty()) {
        region_.count_drop(drop_cause::names_full);
    } else {
        new_.emplace_back(id, text);
    }
}

void name_writer::use(std::span<const record> records) {
    for (const record& r : records) {
        if (has_name(r)) use(r.name);
    }
}

void name_writer::write(capture_writer& out) {
    if (!new_.empty()) out.names(new_);
    new_.clear();
}

void name_writer::forget(std::uint64_t begin, std::uint64_t end) noexcept {
    const std::uint64_t mask = region_.passing().arena_bytes() - 1;
    for (; begin < end; begin += entry_alignment) passing_[(begin & mask) / entry_alignment] = false;
    // Forget the ids whose text is no longer held: no kept record uses them, so they do not come again.
    std::erase_if(freed_, [this](std::uint32_t id) { return held_(id).empty(); });
}

}  // namespace prof
