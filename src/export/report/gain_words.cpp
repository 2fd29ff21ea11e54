// SPDX-License-Identifier: Apache-2.0
#include "export/report/gain_words.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>

#include "base/display_text.hpp"
#include "export/report/screen/screen_tree.hpp"

namespace prof {

std::string place_name(std::string_view path) {
    if (path.empty()) return "rest of the step";
    std::string out;
    while (true) {
        const std::size_t end = std::min(path.find('/'), path.size());
        out += shown_row_name({.name = std::string(path.substr(0, end)),
                               .kind = out.empty() ? step_row_kind::phase : step_row_kind::range},
                              true);
        if (end == path.size()) return out;
        out += '/';
        path.remove_prefix(end + 1);
    }
}

std::string gain_text(const priced_change& gain, std::size_t width) {
    constexpr std::size_t most_named = 2;
    std::string places;
    if (!gain.places.empty() && gain.rule != "data_loader") {
        std::size_t named = 0;
        for (const std::string& place : gain.places) {
            if (named == most_named) break;
            places += named != 0 ? ", " : place.starts_with("after ") ? " " : " in ";
            places += shortened(place_name(place), 32);
            ++named;
        }
        const std::uint64_t more = gain.more_places + gain.places.size() - named;
        if (more != 0) places += fmt::format(" and {} more", more);
    }
    std::string mark;
    const auto add = [&](bool is_so, std::string_view word) {
        if (is_so) mark.append(mark.empty() ? " (" : "; ").append(word);
    };
    add(gain.is_on_cpu, "CPU time");
    add(gain.is_rough, "rough");
    add(gain.changes_results, "results change");
    if (!mark.empty()) mark += ')';
    const std::string noun = beginning_of(gain.noun, width - std::min(width, mark.size()));
    const std::size_t used = display_width(noun) + mark.size();
    constexpr std::size_t least = 8;  // " in a…b"
    places = width >= used + least ? beginning_of(places, width - used) : std::string();
    return noun + places + mark;
}

}  // namespace prof
