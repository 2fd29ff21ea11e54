// SPDX-License-Identifier: Apache-2.0
// The columns of a report, each with the function that makes its cells, so that a column and its cells stand in one
// place. A report lists its columns once and gives them what its rows are made of.
//
//     const report_columns<kernel_row> columns = {
//         {{"name", "kernel"}, &kernel_row::name, true},
//         {{"share", "%", quantity::share}, &kernel_row::share},
//         {{"each_ns", "each", quantity::time_ns}, [](const kernel_row& row) { return row.ns / row.calls; }},
//     };
//     table out = make_table("kernels", "GPU time by kernel", columns, rows);
#pragma once

#include <algorithm>
#include <cstddef>
#include <functional>
#include <iterator>
#include <stdexcept>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "report/table.hpp"

namespace prof {

// TRow: what a row is made of.
template <typename TRow>
struct report_column {
    table_column column{};
    std::function<table_cell(const TRow&)> cell{};  // of a row; a pointer to the member that has the value will do
    bool adds_up = false;  // rows that stand for several, such as sums, have it, too: by the same function
};

template <typename TRow>
using report_columns = std::vector<report_column<TRow>>;

// Columns that several reports have, behind those that are there already.
template <typename TRow>
void append(report_columns<TRow>& columns, std::type_identity_t<report_columns<TRow>> more) {
    columns.insert(columns.end(), std::move_iterator(more.begin()), std::move_iterator(more.end()));
}

template <typename TRow>
std::vector<table_column> heads_of(const report_columns<TRow>& columns) {
    std::vector<table_column> out;
    out.reserve(columns.size());
    for (const report_column<TRow>& column : columns) out.push_back(column.column);
    return out;
}

template <typename TRow>
table_row cells_of(const report_columns<TRow>& columns, const std::type_identity_t<TRow>& row) {
    table_row out;
    out.reserve(columns.size());
    for (const report_column<TRow>& column : columns) out.push_back(column.cell(row));
    return out;
}

// Of a row that stands for several. People see nothing in the columns that do not add up.
template <typename TRow>
table_row sums_of(const report_columns<TRow>& columns, const std::type_identity_t<TRow>& row) {
    table_row out;
    out.reserve(columns.size());
    for (const report_column<TRow>& column : columns) out.push_back(column.adds_up ? column.cell(row) : blank_cell());
    return out;
}

// A row for each element of a range.
template <typename TRow, typename TRows>
std::vector<table_row> rows_of(const report_columns<TRow>& columns, const TRows& rows) {
    std::vector<table_row> out;
    out.reserve(std::size(rows));
    for (const auto& row : rows) out.push_back(cells_of(columns, row));
    return out;
}

template <typename TRow, typename TRows = std::vector<TRow>>
table make_table(std::string report, std::string heading, const report_columns<TRow>& columns, const TRows& rows = {}) {
    return {std::move(report), std::move(heading), heads_of(columns), rows_of(columns, rows), {}};
}

// Rows that are made now, or when they are asked for (table::later_rows). for_each(visit) calls visit(row) `count`
// times.
template <typename TRow, typename TForEach>
void give_rows(table& to, report_columns<TRow> columns, std::size_t count, TForEach for_each, bool later) {
    const auto make = [columns = std::move(columns), for_each = std::move(for_each)](const row_source::visitor& visit) {
        for_each([&](const TRow& row) { visit(cells_of(columns, row)); });
    };
    give_rows(to, {count, make}, later);
}

// Cells of a member with a text: none where it is "".
template <typename TRow>
auto text_or_none(std::string TRow::*member) {
    return [member](const TRow& row) { return text_or_none(row.*member); };
}

// The place of the column with this key, or of one without a key and with this title.
inline std::size_t place_of(const table& made, std::string_view column) {
    const auto found = std::find_if(made.columns.begin(), made.columns.end(), [&](const table_column& one) {
        return (one.key.empty() ? one.title : one.key) == column;
    });
    if (found == made.columns.end()) throw std::logic_error(made.report + " has no column " + std::string(column));
    return static_cast<std::size_t>(found - made.columns.begin());
}

}  // namespace prof
