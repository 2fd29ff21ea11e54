// SPDX-License-Identifier: Apache-2.0
// Looking at a report's table in tests.
#pragma once

#include <algorithm>
#include <sstream>
#include <string>
#include <variant>
#include <vector>

#include <gtest/gtest.h>

#include "report/table.hpp"

namespace prof {

inline std::string shown(const table_cell& cell) {
    std::ostringstream out;
    std::visit(
        [&](const auto& value) {
            using held = std::decay_t<decltype(value)>;
            if constexpr (std::is_same_v<held, text_list>) {
                for (const std::string& text : value) out << text << ';';
            } else if constexpr (!std::is_same_v<held, std::monostate>) {
                out << value;
            }
        },
        cell.value);
    return out.str();
}

// Each row's cells in the named columns, with blanks between.
inline std::vector<std::string> rows_of(const table& of, const std::vector<std::string>& keys) {
    std::vector<std::string> lines;
    for (const auto& row : of.rows) {
        EXPECT_EQ(row.size(), of.columns.size());
        std::string line;
        for (const std::string& key : keys) {
            const auto column =
                std::find_if(of.columns.begin(), of.columns.end(), [&](const table_column& c) { return c.key == key; });
            if (column == of.columns.end()) {
                ADD_FAILURE() << "no column " << key;
                continue;
            }
            line += (line.empty() ? "" : " ") + shown(row[static_cast<std::size_t>(column - of.columns.begin())]);
        }
        lines.push_back(line);
    }
    return lines;
}

inline std::string header_of(const table& of) {
    std::string out;
    for (const table_column& column : of.columns) out += (out.empty() ? "" : ",") + column.key;
    return out;
}

}  // namespace prof
