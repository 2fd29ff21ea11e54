// SPDX-License-Identifier: Apache-2.0
#include "analysis/breakdown/code_places.hpp"

#include "analysis/projection/segment.hpp"
#include "analysis/projection/xla_phases.hpp"
#include "analysis/steps/step_parts.hpp"

namespace prof {
namespace {

constexpr std::uint32_t deepest_place = 12;  // deeper ranges are part of the place above
constexpr std::size_t most_places = 4'096;   // further ones are, too

}  // namespace

std::uint32_t code_places::of(std::uint32_t range) {
    std::vector<std::uint32_t> unknown;
    std::uint32_t place = 0;
    // A cycle is impossible: an adopting range began earlier.
    for (std::uint32_t at = range; at != npos && is_range(at); at = att_.parent[at]) {
        if (const auto known = by_range_.find(at); known != by_range_.end()) {
            place = known->second;
            break;
        }
        unknown.push_back(at);
    }
    for (auto at = unknown.rbegin(); at != unknown.rend(); ++at) {
        place = below(place, *at);
        by_range_.emplace(*at, place);
    }
    return place;
}

std::uint32_t code_places::below(std::uint32_t above, std::uint32_t range) {
    const timeline_range& of = data_.ranges[range];
    if (is_step_range(data_, of, steps_) || !of.takes_part() || att_.hidden.contains(of)) return above;
    const std::uint64_t key = std::uint64_t{of.domain} << 32 | of.name;
    auto name = names_.find(key);
    if (name == names_.end()) name = names_.emplace(key, segment_text(data_, of, true)).first;
    if (name->second == entries_[above].name || entries_[above].depth == deepest_place) return above;
    const auto known = by_text_.find({above, name->second});
    if (known != by_text_.end()) return known->second;
    if (entries_.size() == most_places) return above;
    const auto number = static_cast<std::uint32_t>(entries_.size());
    entry made{.path = path_below(entries_[above].path, name->second),
               .name = name->second,
               .depth = entries_[above].depth + 1,
               .outermost = above == 0 ? number : entries_[above].outermost};
    made.kind = kind_of(made.path, made.name);
    entries_.push_back(std::move(made));
    by_text_.emplace(std::pair(above, name->second), number);
    return number;
}

place_kind code_places::kind_of(const std::string& path, const std::string& name) {
    if (path == "data" || path.starts_with("data/") || name.starts_with("enumerate(DataLoader)")) {
        return place_kind::loader;
    }
    const bool compiles =
        name == xla_compilation_text || name.starts_with("XlaCompile") || name.starts_with("_compile.compile_inner");
    return compiles ? place_kind::compiler : place_kind::other;
}

}  // namespace prof
