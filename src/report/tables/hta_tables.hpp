// SPDX-License-Identifier: Apache-2.0
// What the reports named after Holistic Trace Analysis' functions have in common (docs/reference/hta.md): rows of both
// scopes, which capture's rank they are of, and how its figures get their input. Pure functions.
#pragma once

#include <algorithm>
#include <array>
#include <optional>
#include <string>

#include "analysis/hta/describe.hpp"
#include "analysis/hta/scope.hpp"
#include "report/report_input.hpp"
#include "report/table.hpp"

namespace prof {

inline constexpr std::array both_scopes = {hta_scope::all, hta_scope::hta};

// Refers to the report's input.
hta_input hta_input_of(const report_input& input);

inline table_cell rank_cell(const timeline& data) {
    const std::optional<std::int64_t> rank = data.number("rank");
    return rank ? table_cell(*rank) : table_cell();
}

template <typename TNumber>
table_cell cell_of(const std::optional<TNumber>& value) {
    return value ? table_cell(*value) : table_cell();
}

// A table whose first two columns are the rank and the scope.
inline table scoped_table(const std::string& report, const std::string& heading) {
    table out{report, heading, {}, {}, {}};
    out.columns = {{"rank", "", quantity::identity}, {"scope", "scope"}};
    return out;
}

inline table_row scoped_row(const timeline& data, hta_scope scope) {
    return {rank_cell(data), std::string(to_string(scope))};
}

inline table_column own_time(const std::string& key, const std::string& title, int importance = 0) {
    return {key, title, quantity::time_ns, importance};
}

// The columns of a description, and their cells.
void add_description_columns(table& out, int importance);
void add_description(table_row& row, const description& of);

}  // namespace prof
