// SPDX-License-Identifier: Apache-2.0
#include "export/report/cell_text.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <string_view>
#include <variant>

#include "base/display_text.hpp"
#include "base/json_text.hpp"

namespace prof {
namespace {

bool is_time(const table_column& column) noexcept {
    return column.holds == quantity::time_ns || column.holds == quantity::moment_ns ||
           column.holds == quantity::change_ns;
}

// Zero has no sign, and neither has what is printed as zero.
std::string signed_time(double ns, const time_unit& unit) {
    const std::string text = unit.format(std::abs(ns));
    return ns < 0 && text.find_first_of("123456789") != std::string::npos ? "-" + text : text;
}

// A number; 0 for what is none.
double number_in(const table_cell& cell) {
    if (const auto* const real = std::get_if<double>(&cell.value)) return *real;
    if (const auto* const whole = std::get_if<std::int64_t>(&cell.value)) return static_cast<double>(*whole);
    if (const auto* const whole = std::get_if<std::uint64_t>(&cell.value)) return static_cast<double>(*whole);
    return 0;
}

std::uint64_t whole_in(const table_cell& cell) {
    if (const auto* const whole = std::get_if<std::uint64_t>(&cell.value)) return *whole;
    const auto* const whole = std::get_if<std::int64_t>(&cell.value);
    return whole == nullptr || *whole < 0 ? 0 : static_cast<std::uint64_t>(*whole);
}

std::string signed_bytes(const table_cell& cell, std::string_view plus) {
    const auto* const number = std::get_if<std::int64_t>(&cell.value);
    if (number == nullptr || *number >= 0) return std::string(plus) + bytes_text(whole_in(cell));
    return '-' + bytes_text(std::uint64_t{0} - static_cast<std::uint64_t>(*number));
}

// "12", "0.95", "0.003".
std::string mean_count_text(double count) {
    constexpr double large = 1000;
    const double whole = std::round(count);
    if (count >= large || std::abs(count - whole) < 5e-7 * large)
        return with_thousands(static_cast<std::uint64_t>(whole));
    return count < 0.01 ? fmt::format("{:.4f}", count) : fmt::format("{:.2f}", count);
}

}  // namespace

bool has_times(const table& of) noexcept {
    return std::any_of(of.columns.begin(), of.columns.end(),
                       [](const table_column& column) { return is_time(column) && !column.title.empty(); });
}

std::int64_t largest_time(const table& of) {
    if (of.unit_ns) return *of.unit_ns;
    double largest_ns = 0;
    for (const auto& row : of.rows) {
        for (std::size_t i = 0; i < row.size(); ++i) {
            if (is_time(of.columns[i])) largest_ns = std::max(largest_ns, std::abs(number_in(row[i])));
        }
    }
    return static_cast<std::int64_t>(std::min(largest_ns, 1e18));
}

time_unit unit_of(const table& of) {
    return of.step_ns ? time_unit::for_step(*of.step_ns) : time_unit::for_largest(largest_time(of));
}

std::string cell_text(const table_column& column, const table_cell& cell, const time_unit& unit) {
    if (cell.display == cell_display::blank) return {};
    if (cell.display == cell_display::dash || std::holds_alternative<std::monostate>(cell.value)) return "-";
    if (const auto* const flag = std::get_if<bool>(&cell.value)) return *flag ? "yes" : "no";
    if (const auto* const text = std::get_if<std::string>(&cell.value)) return terminal_safe(*text);
    if (const auto* const list = std::get_if<text_list>(&cell.value)) {
        return terminal_safe(fmt::format("{}", fmt::join(*list, ", ")));
    }
    const double number = number_in(cell);
    switch (column.holds) {
        case quantity::time_ns:
        case quantity::moment_ns:
            return signed_time(number, unit);
        case quantity::change_ns:
            return (number < 0 ? "-" : "+") + unit.format(std::abs(number));
        case quantity::change_share:
            return (number < 0 ? "-" : "+") + percent(std::abs(number));
        case quantity::share:
            return percent(number);
        case quantity::percent:
            return percent(number / 100);
        case quantity::count:
            return with_thousands(whole_in(cell));
        case quantity::mean_count:
            return mean_count_text(number);
        case quantity::bytes:
            return signed_bytes(cell, "");
        case quantity::change_bytes:
            return signed_bytes(cell, "+");
        case quantity::identity:
            return fmt::format("{:.0f}", number);
        case quantity::number:
        case quantity::text:
        case quantity::flag:
            break;
    }
    return fmt::format("{:.{}f}", number, column.decimals < 0 ? 2 : column.decimals);
}

}  // namespace prof
