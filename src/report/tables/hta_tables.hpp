// SPDX-License-Identifier: Apache-2.0
// What the reports named after Holistic Trace Analysis' functions have in common (docs/reference/hta.md): rows of both
// scopes, which capture's rank they are of, and how its figures get their input. Pure functions.
#pragma once

#include <algorithm>
#include <array>

#include "analysis/hta/describe.hpp"
#include "analysis/hta/scope.hpp"
#include "report/report_column.hpp"
#include "report/report_input.hpp"

namespace prof {

inline constexpr std::array both_scopes = {hta_scope::all, hta_scope::hta};

// Refers to the report's input.
hta_input hta_input_of(const report_input& input);

inline table_cell rank_cell(const timeline& data) { return data.number("rank"); }

// The first columns, where each row is of a scope: TRow has the member `scope`.
template <typename TRow>
report_columns<TRow> scope_columns(const timeline& data) {
    return {{{"rank", "", quantity::identity}, [rank = rank_cell(data)](const TRow&) { return rank; }},
            {{"scope", "scope"}, [](const TRow& row) { return to_string(row.scope); }}};
}

// "std", the quartiles and what else a description has; without values none of them but the count has one.
template <typename TRow>
report_columns<TRow> description_columns(description TRow::*values, int importance) {
    const auto column = [&](const char* name, int more, auto figure) {
        return report_column<TRow>{
            {name, name, quantity::number, importance + more},
            [values, figure](const TRow& row) { return none_unless((row.*values).count != 0, row.*values.*figure); }};
    };
    return {{{"count", "count", quantity::count}, [values](const TRow& row) { return (row.*values).count; }},
            column("mean", 0, &description::mean),
            column("std", 1, &description::stddev),
            column("min", 0, &description::min),
            column("25%", 1, &description::p25),
            column("50%", 0, &description::median),
            column("75%", 1, &description::p75),
            column("max", 0, &description::max)};
}

}  // namespace prof
