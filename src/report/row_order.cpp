// SPDX-License-Identifier: Apache-2.0
#include "report/row_order.hpp"

#include <algorithm>
#include <cctype>
#include <cstdint>
#include <string>
#include <variant>
#include <vector>

#include "base/display_text.hpp"
#include "base/error.hpp"

namespace prof {
namespace {

// "Self CPU", "self-cpu" and "self_cpu" are one.
std::string plain(std::string_view text) {
    std::string out;
    for (const char c : text) {
        if (c == '%') out += c;
        if (std::isalnum(static_cast<unsigned char>(c)) != 0) out += static_cast<char>(std::tolower(c));
    }
    return out;
}

std::size_t find_column(const table& of, std::string_view column) {
    std::vector<std::string> known;
    for (std::size_t i = 0; i < of.columns.size(); ++i) {
        for (const std::string* const name : {&of.columns[i].title, &of.columns[i].key}) {
            if (name->empty()) continue;
            if (plain(*name) == plain(column)) return i;
        }
        const std::string& name = of.columns[i].title.empty() ? of.columns[i].key : of.columns[i].title;
        const bool is_new = std::find(known.begin(), known.end(), name) == known.end();
        if (!name.empty() && is_new) known.push_back(name);
    }
    std::string list;
    for (const std::string& name : known) list.append(list.empty() ? "" : ", ").append(name);
    throw impossible_order(of.report + " has no column \"" + std::string(column) + "\" to sort by; it has " + list);
}

// Where there is no number, the least.
double weight_of(const table_cell& cell) {
    if (const auto* const real = std::get_if<double>(&cell.value)) return *real;
    if (const auto* const whole = std::get_if<std::int64_t>(&cell.value)) return static_cast<double>(*whole);
    if (const auto* const whole = std::get_if<std::uint64_t>(&cell.value)) return static_cast<double>(*whole);
    if (const auto* const flag = std::get_if<bool>(&cell.value)) return *flag ? 1 : 0;
    return -1;
}

bool is_before(const table_cell& a, const table_cell& b) {
    const auto* const text_a = std::get_if<std::string>(&a.value);
    const auto* const text_b = std::get_if<std::string>(&b.value);
    if (text_a != nullptr && text_b != nullptr) return *text_a < *text_b;
    return weight_of(a) > weight_of(b);
}

}  // namespace

void sort_rows(table& of, std::string_view column) {
    const std::size_t by = find_column(of, column);
    std::stable_sort(of.rows.begin(), of.rows.end(),
                     [by](const table_row& a, const table_row& b) { return is_before(a[by], b[by]); });
}

void limit_rows(table& of, std::size_t most) {
    if (of.rows.size() <= most) return;
    const std::size_t left_out = of.rows.size() - most;
    of.rows.resize(most);
    of.notes.push_back(with_thousands(left_out) + (left_out == 1 ? " more row is" : " more rows are") + " left out" +
                       (of.sums.empty() ? "" : "; the total includes " + std::string(left_out == 1 ? "it" : "them")));
}

}  // namespace prof
