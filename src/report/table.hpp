// SPDX-License-Identifier: Apache-2.0
// A table as a value: columns, each with the kind of its values, and rows of cells. A report makes it, and every
// renderer of export/report/ shows the same one: text, Markdown and HTML for people, CSV and JSON for programs.
// Programs get all rows. People get those that the renderer asks for (table::shorten). Plain data, but for that
// function.
#pragma once

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

namespace prof {

// What a column's values are. Text shows each in its own way; CSV and JSON have the number.
enum class quantity : std::uint8_t {
    text,
    identity,  // a number that names something: pid, device
    count,
    mean_count,  // how often something is in a step: it need not be whole
    number,
    time_ns,
    moment_ns,  // a point of time
    change_ns,  // of a time: shown with its sign
    bytes,
    change_bytes,  // shown with its sign
    share,         // 0 … 1
    percent,       // 0 … 100
    change_share,  // of a value: 0.02 is 2 % more
    flag,          // true or false
};

// Which of the formats for programs have a column.
enum class column_formats : std::uint8_t { csv_and_json, csv, json };

struct table_column {
    std::string key;    // in CSV's header and in JSON; "": not there
    std::string title;  // in tables for people; "": not there
    quantity holds = quantity::text;
    int importance = 0;  // 0: always shown; else the highest goes first when space is short (text_table.hpp)
    int decimals = -1;   // in CSV, of values that are no whole numbers; -1: as many as it takes
    column_formats formats = column_formats::csv_and_json;  // REQUIRES: csv_and_json if the key is ""
    bool is_key = false;  // the columns with this mark together identify a row, in this capture and in another
};

// How a table for people shows a cell. Formats for programs have its value in any case.
enum class cell_display : std::uint8_t { value, blank, dash };

using text_list = std::vector<std::string>;

// A value, or none: then text has a dash, CSV nothing and JSON null. A list is an array in JSON, and lines elsewhere.
struct table_cell {
    std::variant<std::monostate, std::int64_t, std::uint64_t, double, bool, std::string, text_list> value;
    cell_display display = cell_display::value;

    table_cell() = default;
    template <std::signed_integral TNumber>
    table_cell(TNumber number) : value(std::int64_t{number}) {}
    template <std::unsigned_integral TNumber>
        requires(!std::same_as<TNumber, bool>)
    table_cell(TNumber number) : value(std::uint64_t{number}) {}
    template <std::same_as<bool> TFlag>
    table_cell(TFlag flag) : value(flag) {}
    table_cell(double number) : value(number) {}
    table_cell(std::string text) : value(std::move(text)) {}
    table_cell(const char* text) : value(std::string(text)) {}
    template <std::same_as<std::string_view> TText>
    table_cell(TText text) : value(std::string(text)) {}
    table_cell(text_list texts) : value(std::move(texts)) {}
    template <typename TValue>
    table_cell(const std::optional<TValue>& known) : table_cell(known ? table_cell(*known) : table_cell()) {}
};

// People see nothing there, not even a dash.
inline table_cell blank_cell() {
    table_cell out;
    out.display = cell_display::blank;
    return out;
}

// No value where there is no text.
inline table_cell text_or_none(std::string_view text) { return text.empty() ? table_cell() : table_cell(text); }

// No value, or nothing that people see, unless `has`.
inline table_cell none_unless(bool has, table_cell cell) { return has ? std::move(cell) : table_cell(); }
inline table_cell blank_unless(bool has, table_cell cell) { return has ? std::move(cell) : blank_cell(); }

using table_row = std::vector<table_cell>;  // a cell for each column

// What a column of a table for people means.
struct legend_line {
    std::string column;  // its title: the line is shown with the column; "": always
    std::string text;    // a sentence
};

// How much of a table a person is shown.
struct shown_limits {
    std::size_t rows = SIZE_MAX;         // about so many of a tree or of a long list
    std::uint32_t deepest = UINT32_MAX;  // of a tree: no row that lies deeper; 0: the outermost rows
};

// The rows of a table within such limits.
struct shown_rows {
    std::vector<table_row> rows{};
    std::vector<table_row> sums{};
    std::string instead{};                     // as in the table
    std::vector<std::string> notes{};          // below the table, after its own
    std::vector<std::string> reading_notes{};  // as report_part::reading_notes
};

// Makes the rows of a list one after another: a list with a row for each launch is longer than what it is made of.
struct row_source {
    using visitor = std::function<void(table_row&&)>;

    std::size_t count = 0;
    std::function<void(const visitor& visit)> for_each;  // calls it `count` times; the same rows each time
};

struct table {
    std::string report;   // the name of the report that it belongs to: "cuda_gpu_kern_sum"
    std::string heading;  // for people: "GPU time by kernel"; the unit of time follows it
    std::vector<table_column> columns;
    std::vector<table_row> rows;
    std::vector<std::pair<std::string, table_cell>> totals;  // beside the rows in JSON
    std::vector<std::string> notes{};                        // below the table, a line each; in JSON, too
    std::vector<legend_line> legend{};                       // the same, where legends are wanted

    std::string rows_key = "rows";          // of the rows in JSON
    std::string remark{};                   // of the heading, behind the unit of time
    std::vector<table_row> sums{};          // for people, below the rows and a rule
    bool shows_if_empty = true;             // else people get no table without rows
    std::string instead{};                  // if set, people get this line behind the heading, and no rows
    std::optional<std::int64_t> unit_ns{};  // the time that the unit is chosen for; else the largest of the rows
    std::optional<double> step_ns{};        // in its place: times are of a step of this length (unit_of_step)
    // What people are shown instead of all rows; empty: all. It must need nothing but the table itself and what it
    // owns.
    std::function<shown_rows(const table& whole, const shown_limits& limits)> shorten{};
    // In place of `rows`, if it makes any. It may need what the report is made of, so that only the visitor of
    // make_reports() gets such a table (make_reports.hpp); others have the rows.
    row_source later_rows{};
};

inline std::size_t row_count(const table& of) noexcept { return of.rows.size() + of.later_rows.count; }

// visit(const table_row&), for each row.
template <typename TVisit>
void for_each_row(const table& of, TVisit&& visit) {
    for (const table_row& row : of.rows) visit(row);
    if (of.later_rows.count != 0) of.later_rows.for_each([&visit](table_row&& row) { visit(std::as_const(row)); });
}

// Gives the table its rows: now, or when they are asked for.
inline void give_rows(table& to, row_source from, bool later) {
    if (later) {
        to.later_rows = std::move(from);
        return;
    }
    to.rows.reserve(from.count);
    from.for_each([&to](table_row&& row) { to.rows.push_back(std::move(row)); });
}

}  // namespace prof
