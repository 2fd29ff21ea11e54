// SPDX-License-Identifier: Apache-2.0
#include "capture/recovery/name_recovery.hpp"

#include <algorithm>
#include <cstring>

#include "base/error.hpp"
#include "record/name_table.hpp"
#include "record/passing_names.hpp"

namespace prof {
namespace {

constexpr std::size_t longest_text = 1U << 20;

std::uint32_t word_at(std::span<const std::byte> bytes, std::size_t offset) noexcept {
    std::uint32_t word = 0;
    std::memcpy(&word, bytes.data() + offset, sizeof word);
    return word;
}

// A name that was being written has no length yet, or only part of its text. The hash reveals that, and the walk
// continues at the next place where an entry may begin.
template <typename TPositionOf>
std::vector<recovered_name> walk(std::span<const std::byte> arena, std::size_t begin, TPositionOf&& position_of) {
    std::vector<recovered_name> names;
    std::uint64_t bytes_read = 0;
    for (std::size_t offset = begin; offset + sizeof(name_entry_header) < arena.size();) {
        const std::uint32_t length = word_at(arena, offset + offsetof(name_entry_header, length_plus_one)) - 1;
        const std::uint32_t hash = word_at(arena, offset + offsetof(name_entry_header, hash));
        const std::uint64_t position = position_of(offset);
        offset += sizeof(name_entry_header);
        if (length > std::min(arena.size() - offset, longest_text)) continue;  // also if there is none: 0 - 1 wraps
        // At most one torn name per thread is normal. If most entries are torn, each place may claim a megabyte that is
        // read for nothing.
        bytes_read += length;
        if (bytes_read > 64 * longest_text + 2 * arena.size()) throw error("its names are damaged");
        const std::string_view text{reinterpret_cast<const char*>(arena.data()) + offset, length};
        if (static_cast<std::uint32_t>(hash_name(text)) != hash) continue;
        names.push_back({static_cast<std::uint32_t>(position / sizeof(name_entry_header)), position, text});
        offset += (std::size_t{length} + 7) / 8 * 8;
    }
    return names;
}

}  // namespace

std::vector<recovered_name> read_kept_names(std::span<const std::byte> arena) {
    return walk(arena, sizeof(name_entry_header), [](std::uint64_t place) { return place; });
}

// The position follows from the place in the arena, since all names lie within one arena length before `end`.
std::vector<recovered_name> read_passing_names(std::span<const std::byte> arena, std::uint64_t end) {
    const std::uint64_t size = arena.size();
    std::vector<recovered_name> names =
        walk(arena.first(static_cast<std::size_t>(std::min(end, size))), 0,
             [&](std::uint64_t place) { return (end - 1 - place) / size * size + place; });
    for (recovered_name& name : names) name.id |= passing_id_bit;
    return names;
}

}  // namespace prof
