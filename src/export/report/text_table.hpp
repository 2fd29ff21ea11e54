// SPDX-License-Identifier: Apache-2.0
// Aligned text for a terminal: columns of cells, as many of them as fit. One thread; offline.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/display_text.hpp"

namespace prof {

// A whole table's times are in one unit, so that a column can be compared at a glance.
struct time_unit {
    std::string_view name;
    double ns = 1;

    static time_unit for_largest(std::int64_t largest_ns) noexcept;
    static time_unit for_step(double step_ns) noexcept;
    std::string format(double value_ns) const;  // three decimals, thousands separated
};
std::string percent(double share);  // 0.123 → "12.3 %"

class text_table {
public:
    // `importance`: 0 is always shown; of the others all those with the highest number go first when space is short.
    // A column that is `flexible` holds names: left-aligned, shortened when space is short.
    struct column {
        std::string title;
        int importance = 0;
        bool flexible = false;
    };

    explicit text_table(std::vector<column> columns) : columns_(std::move(columns)) {}

    void add_row(std::vector<std::string> cells) { rows_.push_back(std::move(cells)); }
    void add_rule() { rows_.emplace_back(); }

    // No line is longer than `width` cells unless the columns of importance 0 alone are. The first has the titles.
    std::string render(std::size_t width) const;
    // Per column, whether it is shown.
    std::vector<bool> shown(std::size_t width) const;

private:
    std::vector<std::size_t> natural_widths() const;
    // Of the columns that are shown, names with at most `longest_name` cells.
    std::size_t width_of(const std::vector<std::size_t>& widths, const std::vector<bool>& shown,
                         std::size_t longest_name) const;

    std::vector<column> columns_;
    std::vector<std::vector<std::string>> rows_;  // an empty one is a rule
};

}  // namespace prof
