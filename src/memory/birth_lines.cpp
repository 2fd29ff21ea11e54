// SPDX-License-Identifier: Apache-2.0
#include "memory/birth_lines.hpp"

#include <iterator>

#include "analysis/projection/code_line_text.hpp"

namespace prof {

birth_lines::birth_lines(const timeline& data, birth_places& places) : data_(data) {
    for (const memory_event& each : data.memory) {
        if (each.kind != memory_kind::allocated || each.stack == npos) continue;
        const std::uint32_t line = number_of(each.stack);
        auto& seen = seen_[{places.place_of(each), places.module_of(each), each.bytes}];
        // Of a stretch of the same line the first moment is enough.
        if (seen.empty() || seen.rbegin()->second != line) seen[each.time_ns] = line;
    }
}

std::uint32_t birth_lines::number_of(stack_id stack) {
    const auto [known, is_new] = by_stack_.try_emplace(stack, 0);
    if (!is_new) return known->second;
    const code_line* const line = own_line(data_, stack);
    // No code of the program's own is known, or an address that was not looked up.
    if (line == nullptr || line->is_library || line->is_native) return 0;
    known_line found{line_text(data_, *line), code_text(data_, stack, *line)};
    const auto [same, is_new_text] =
        by_text_.try_emplace({found.text, found.code}, static_cast<std::uint32_t>(lines_.size()));
    if (is_new_text) lines_.push_back(std::move(found));
    return known->second = same->second;
}

std::uint32_t birth_lines::line_of(const memory_event& birth, birth_places& places) {
    if (birth.stack != npos) return number_of(birth.stack);
    if (seen_.empty()) return 0;
    const auto seen = seen_.find({places.place_of(birth), places.module_of(birth), birth.bytes});
    if (seen == seen_.end()) return 0;
    const auto after = seen->second.upper_bound(birth.time_ns);
    return after == seen->second.begin() ? after->second : std::prev(after)->second;
}

}  // namespace prof
