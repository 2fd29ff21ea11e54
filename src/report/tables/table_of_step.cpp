// SPDX-License-Identifier: Apache-2.0
#include "report/tables/table_of_step.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <numeric>
#include <string>
#include <variant>
#include <vector>

#include "report/report_column.hpp"

namespace prof {
namespace {

double number_in(const table_cell& cell) noexcept {
    if (const auto* const real = std::get_if<double>(&cell.value)) return *real;
    if (const auto* const whole = std::get_if<std::int64_t>(&cell.value)) return static_cast<double>(*whole);
    if (const auto* const whole = std::get_if<std::uint64_t>(&cell.value)) return static_cast<double>(*whole);
    return 0;
}

// visit(table_cell&), for each cell of the column that has a value.
template <typename TVisit>
void for_each_cell(table& of, std::size_t column, TVisit&& visit) {
    for (auto* const rows : {&of.rows, &of.sums}) {
        for (table_row& row : *rows) {
            if (!std::holds_alternative<std::monostate>(row[column].value)) visit(row[column]);
        }
    }
}

}  // namespace

void divide_count(table& of, std::string_view column, const mean_step& by) {
    const std::size_t place = place_of(of, column);
    of.columns[place].holds = quantity::mean_count;
    for_each_cell(of, place, [&](table_cell& cell) { cell.value = by.cpu(number_in(cell)); });
}

void divide_bytes(table& of, std::string_view column, const mean_step& by) {
    for_each_cell(of, place_of(of, column), [&](table_cell& cell) {
        cell.value = static_cast<std::uint64_t>(std::llround(by.cpu(number_in(cell))));
    });
}

void divide_time(table& of, std::string_view column, const mean_step& by, whose_time whose) {
    const std::size_t place = place_of(of, column);
    of.columns[place].holds = quantity::time_ns;
    by.set_unit(of);
    if (whose != whose_time::gpu_adds_up) {
        for_each_cell(of, place, [&](table_cell& cell) {
            const double all = number_in(cell);
            cell.value = by.printed(whose == whose_time::cpu ? by.cpu(all) : by.gpu(all));
        });
        return;
    }
    std::vector<std::int64_t> all;
    all.reserve(of.rows.size());
    for (const table_row& row : of.rows) {
        all.push_back(std::max<std::int64_t>(static_cast<std::int64_t>(number_in(row[place])), 0));
    }
    const std::vector<std::int64_t> shown = by.gpu_parts(all);
    for (std::size_t i = 0; i < shown.size(); ++i) of.rows[i][place].value = shown[i];
    for (table_row& row : of.sums) {
        if (std::holds_alternative<std::monostate>(row[place].value)) continue;
        row[place].value = std::accumulate(shown.begin(), shown.end(), std::int64_t{0});
    }
}

void share_of_step(table& of, std::string_view share, std::string_view time, const mean_step& by) {
    const std::size_t from = place_of(of, time);
    const std::size_t to = place_of(of, share);
    for (auto* const rows : {&of.rows, &of.sums}) {
        for (table_row& row : *rows) {
            if (!std::holds_alternative<std::monostate>(row[from].value)) row[to] = by.share(number_in(row[from]));
        }
    }
    of.columns[to].title = "% of step";
    of.columns[to].importance = 0;
}

void set_title(table& of, std::string_view column, std::string_view title) {
    of.columns[place_of(of, column)].title = title;
}

void make_durations_of_step(table& of, const mean_step& by) {
    divide_count(of, "instances", by);
    divide_time(of, "total_ns", by, whose_time::gpu_adds_up);
    share_of_step(of, "share", "total_ns", by);
    set_title(of, "instances", "calls");
    set_title(of, "total_ns", "time");
    set_title(of, "median_ns", "");
    set_title(of, "stddev_ns", "");
    set_title(of, "mean_ns", "each");
    set_title(of, "min_ns", "shortest");
    set_title(of, "max_ns", "longest");
    of.legend = {{"time", "time, calls: of a step."}, {"each", "each: of one operation."}};
}

}  // namespace prof
