// SPDX-License-Identifier: Apache-2.0
// Which ranges whose names differ only in numbers become one row: the option `fold`. Pure functions; the rule itself is
// applied by analysis/projection/.
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/text.hpp"

namespace prof {

enum class fold_mode : std::uint8_t {
    none,      // each name has a row of its own
    counters,  // numbers that count are folded, numbers that name are not (analysis/projection/merged_names.hpp)
    all,       // every number is folded
    listed,    // the numbers of the listed names are folded, and no others
};

struct fold_rule {
    fold_mode mode = fold_mode::counters;
    // Of `listed`: shell patterns for folded names, such as "layer #".
    std::vector<std::string> names{};

    bool operator==(const fold_rule&) const = default;

    // The text from which parse_fold_rule() makes the same rule.
    std::string text() const {
        switch (mode) {
            case fold_mode::none:
                return "none";
            case fold_mode::counters:
                return "counters";
            case fold_mode::all:
                return "all";
            case fold_mode::listed:
                break;
        }
        std::string out;
        for (const std::string& name : names) out.append(out.empty() ? "" : ",").append(name);
        return out;
    }
};

inline constexpr std::string_view accepted_fold_rules =
    "counters, all, none, or names with '#' for each number, such as \"layer #,iteration #\"";

// "counters" or "1", "all", "none" or "0", or names with commas between. Each name has a '#' in place of a number. A
// comma after a backslash is part of a name; the backslash stays, since fnmatch removes it.
inline std::optional<fold_rule> parse_fold_rule(std::string_view text) {
    for (const fold_mode mode : {fold_mode::none, fold_mode::counters, fold_mode::all}) {
        if (text == fold_rule{.mode = mode}.text()) return fold_rule{.mode = mode};
    }
    if (text == "0") return fold_rule{.mode = fold_mode::none};
    if (text == "1") return fold_rule{.mode = fold_mode::counters};
    fold_rule out{.mode = fold_mode::listed};
    for (const std::string_view name : split(text, ',', '\\')) {
        if (name.find('#') == std::string_view::npos) return std::nullopt;
        out.names.emplace_back(name);
    }
    return out;
}

}  // namespace prof
