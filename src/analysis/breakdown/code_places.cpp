// SPDX-License-Identifier: Apache-2.0
#include "analysis/breakdown/code_places.hpp"

#include <unordered_set>
#include <utility>

#include "analysis/projection/segment.hpp"
#include "analysis/projection/xla_phases.hpp"
#include "analysis/steps/step_parts.hpp"

namespace prof {
namespace {

constexpr std::uint32_t deepest_place = 12;  // deeper ranges are part of the place above
// Further ones are "other ranges" in the place above, so that their time is not that of code outside ranges. Those of a
// kind are told apart up to twice as many.
constexpr std::size_t most_places = 4'096;
constexpr std::uint32_t other_ranges = npos - 1;  // instead of an index into texts_
constexpr code_place_id unknown_place{UINT32_MAX};

}  // namespace

code_places::code_places(const timeline& data, const attribution& att, const whole_steps& of)
    : data_(data), att_(att), steps_(of), by_range_(data.ranges.size(), unknown_place) {
    leave_out_ranges_around_phases();
}

// Those of the program with phases of two or more names in them, at any depth.
void code_places::leave_out_ranges_around_phases() {
    constexpr int most_above = 64;
    std::unordered_map<std::uint32_t, std::uint32_t> phase_in;  // text of a range around it → the phase's name
    std::unordered_set<std::uint32_t> around;
    for (const timeline_range& phase : data_.ranges) {
        if (phase.parent == npos || !is_phase(data_, phase) || att_.hidden.contains(phase)) continue;
        if (is_step_range(data_, phase, steps_) || data_.name(phase.name) == startup_phase) continue;
        range_id above = phase.parent;
        for (int i = 0; i < most_above && above != npos; ++i, above = data_.ranges[above].parent) {
            const timeline_range& range = data_.ranges[above];
            if (is_phase(data_, range)) break;
            if (!range.takes_part() || att_.hidden.contains(range)) continue;
            const std::uint32_t text = text_of(range);
            if (text != npos && phase_in.try_emplace(text, phase.name).first->second != phase.name) around.insert(text);
        }
    }
    for (auto& [name, text] : names_) {
        if (around.contains(text)) text = npos;
    }
    around_phases_ = std::move(around);
}

code_place_id code_places::of(range_id range) {
    path_.clear();
    code_place_id place{};
    // A cycle is impossible: an adopting range began earlier.
    for (range_id at = range; at != npos && is_range(at); at = att_.parent[at]) {
        if (by_range_[at] != unknown_place) {
            place = by_range_[at];
            break;
        }
        path_.push_back(at);
    }
    for (auto at = path_.rbegin(); at != path_.rend(); ++at) {
        place = below(place, *at);
        by_range_[*at] = place;
    }
    return place;
}

bool code_places::adds_to_path(range_id range) {
    const timeline_range& of = data_.ranges[range];
    return of.takes_part() && !att_.hidden.contains(of) && text_of(of) != npos;
}

std::vector<std::string> code_places::paths() const {
    std::vector<std::string> out;
    out.reserve(entries_.size());
    for (const entry& each : entries_) out.push_back(each.path);
    return out;
}

code_place_id code_places::common(code_place_id a, code_place_id b) const {
    while (a != b) {
        code_place_id& deeper = entries_[a].depth >= entries_[b].depth ? a : b;
        deeper = entries_[deeper].above;
    }
    return a;
}

code_place_id code_places::below(code_place_id above, range_id range) {
    const timeline_range& of = data_.ranges[range];
    if (!of.takes_part() || att_.hidden.contains(of)) return above;
    const std::uint32_t text = text_of(of);
    if (text == npos || text == entries_[above].text || entries_[above].depth == deepest_place) return above;
    const std::uint64_t key = std::uint64_t{above} << 32 | text;
    if (const auto known = by_text_.find(key); known != by_text_.end()) return known->second;
    if (named_ >= most_places && (named_ >= 2 * most_places || kind_below(above, texts_[text]) == place_kind::other)) {
        return others_below(above);
    }
    ++named_;
    const code_place_id number = add_entry(above, text, texts_[text]);
    by_text_.emplace(key, number);
    return number;
}

code_place_id code_places::others_below(code_place_id above) {
    if (entries_[above].text == other_ranges || entries_[above].kind != place_kind::other) return above;
    const auto [known, is_new] = by_text_.try_emplace(std::uint64_t{above} << 32 | other_ranges);
    if (is_new) known->second = add_entry(above, other_ranges, std::string(other_ranges_text));
    return known->second;
}

bool code_places::is_others(code_place_id place) const { return entries_[place].text == other_ranges; }

code_place_id code_places::add_entry(code_place_id above, std::uint32_t text, const std::string& name) {
    const code_place_id number(entries_.size());
    entry made{.path = path_below(entries_[above].path, name),
               .name = name,
               .text = text,
               .depth = entries_[above].depth + 1,
               .above = above,
               .outermost = above == 0 ? number : entries_[above].outermost};
    made.kind = kind_below(above, name);
    entries_.push_back(std::move(made));
    return number;
}

place_kind code_places::kind_below(code_place_id above, const std::string& name) const {
    if (entries_[above].kind == place_kind::compiler) return place_kind::compiler;
    return kind_of(path_below(entries_[above].path, name), name);
}

place_kind code_places::kind_of(const std::string& path, const std::string& name) {
    if (path == "data" || path.starts_with("data/") || name.starts_with("enumerate(DataLoader)")) {
        return place_kind::loader;
    }
    const bool compiles = name == compilation_phase || name == xla_compilation_text || name.starts_with("XlaCompile") ||
                          name.starts_with("_compile.compile_inner");
    return compiles ? place_kind::compiler : place_kind::other;
}

// The index of its folded name; npos: it is a step's range.
std::uint32_t code_places::text_of(const timeline_range& range) {
    const auto [known, is_new] = names_.try_emplace(range.name_key(), npos);
    if (is_new && !is_step_range(data_, range, steps_)) {
        const auto [number, is_first] =
            text_numbers_.try_emplace(segment_text(data_, range, true), static_cast<std::uint32_t>(texts_.size()));
        if (is_first) texts_.push_back(number->first);
        if (!around_phases_.contains(number->second)) known->second = number->second;
    }
    return known->second;
}

}  // namespace prof
