// SPDX-License-Identifier: Apache-2.0
// The part of region that handles the names in the mapping.
#include "ring/region.hpp"

namespace prof {
namespace {

constexpr std::uint32_t name_step = 512U << 10;  // names get storage in steps of this size

}  // namespace

std::uint32_t region::keep(std::string_view text) noexcept {
    bool full = false;
    const std::uint32_t id = names_.intern(text, full);
    if (full) [[unlikely]]
        count_drop(drop_cause::names_full);
    return id;
}

std::uint32_t region::intern(std::string_view text) noexcept {
    bool full = false;
    const std::uint32_t id = names_.intern(text, full);
    if (!full) [[likely]]
        return id;
    const name_use use(*this);
    return intern_passing(text, passing_.begin());
}

std::uint32_t region::intern_passing(std::string_view text, std::uint64_t since) noexcept {
    bool full = false;
    const std::uint32_t id = passing_.intern(text, since, full);
    if (full) [[unlikely]]
        count_drop(drop_cause::names_full);
    return id;
}

std::string_view region::name_text(std::uint32_t id) const noexcept {
    if (!is_passing(id)) return names_.text(id);
    std::uint64_t position = 0;
    return passing_.position_of(id, position) ? passing_.text(id) : std::string_view{};
}

template <typename TNames>
void region::extend(TNames& names, std::uint64_t used, std::size_t file_offset) noexcept {
    const std::uint32_t committed = names.committed_bytes();
    const std::uint32_t limit = names.arena_bytes();
    if (committed == limit || (committed != 0 && committed - used > name_step / 2)) return;
    const std::uint32_t next = limit - committed < name_step ? limit : committed + name_step;
    if (allocate(file_offset + committed, next - committed) == 0) names.commit(next);
}

void region::extend_names() noexcept {
    extend(names_, names_.used_bytes(), arena_file_offset_);
    extend(passing_, passing_.end(), passing_file_offset_);
}

}  // namespace prof
