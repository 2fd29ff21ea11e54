// SPDX-License-Identifier: Apache-2.0
#include "export/report/gain_words.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>

#include "base/display_text.hpp"
#include "base/json_text.hpp"
#include "export/report/screen/screen_tree.hpp"

namespace prof {

std::string place_name(std::string_view path) {
    if (path.empty()) return "rest of the step";
    std::string out;
    while (true) {
        const std::size_t end = std::min(path.find('/'), path.size());
        out += row_name({.name = std::string(path.substr(0, end)),
                         .kind = out.empty() ? step_row_kind::phase : step_row_kind::range},
                        true);
        if (end == path.size()) return out;
        out += '/';
        path.remove_prefix(end + 1);
    }
}

namespace {

std::string places_of(const priced_change& gain) {
    if (gain.places.empty() || gain.rule == "data_loader") return {};
    constexpr std::size_t most_shown = 2;
    std::string out;
    std::size_t named = 0;
    for (const std::string& place : gain.places) {
        if (named == most_shown) break;
        out += named != 0 ? ", " : place.starts_with("after ") ? " " : " in ";
        out += shortened(terminal_safe(place_name(place)), 32);
        ++named;
    }
    const std::uint64_t more = gain.more_places + gain.places.size() - named;
    return more == 0 ? out : out + fmt::format(" and {} more", more);
}

// What must be known of a gain, in words or in shorter ones, or the most important of it alone.
enum class mark_length : std::uint8_t { words, short_words, rough_alone, none };

std::string marks_of(const priced_change& gain, mark_length length) {
    const bool is_short = length != mark_length::words;
    const bool has_others = length == mark_length::words || length == mark_length::short_words;
    std::string out;
    const auto add = [&](bool is_so, std::string_view word) {
        if (is_so) out.append(out.empty() ? " (" : "; ").append(word);
    };
    add(gain.is_on_cpu && has_others, is_short ? "CPU" : "CPU time");
    add(gain.is_rough && length != mark_length::none, "rough");
    add(gain.changes_results && has_others, is_short ? "results" : "results change");
    return out.empty() ? out : out + ')';
}

}  // namespace

std::string gain_text(const priced_change& gain, std::size_t width) {
    constexpr std::size_t least_noun = 16;  // cells, from which a reader can tell what the gain is of
    constexpr std::size_t least_place = 8;  // " in a…b"
    const std::string noun = terminal_safe(gain.noun);
    std::string places = places_of(gain);
    const std::size_t wanted = std::min(display_width(noun), least_noun) + (places.empty() ? 0 : least_place);
    std::string mark;
    for (const mark_length length :
         {mark_length::words, mark_length::short_words, mark_length::rough_alone, mark_length::none}) {
        mark = marks_of(gain, length);
        if (mark.size() + wanted <= width) break;
    }
    const std::string shown = beginning_of(noun, width - std::min(width, mark.size()));
    const std::size_t used = display_width(shown) + mark.size();
    places = width >= used + least_place ? beginning_of(places, width - used) : std::string();
    return shown + places + mark;
}

}  // namespace prof
