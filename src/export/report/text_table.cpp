// SPDX-License-Identifier: Apache-2.0
#include "export/report/text_table.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "base/apportioned.hpp"
#include "export/report/name_cut.hpp"

namespace prof {
namespace {

constexpr std::size_t gap = 2;
constexpr std::size_t least_name_width = 20;

void cut_column(std::vector<std::vector<std::string>>& rows, std::size_t column, std::size_t width) {
    std::vector<std::string> names;
    for (const auto& row : rows) {
        if (!row.empty()) names.push_back(row[column]);
    }
    names = cut_names(names, width);
    auto next = names.begin();
    for (auto& row : rows) {
        if (!row.empty()) row[column] = std::move(*next++);
    }
}

}  // namespace

time_unit time_unit::for_largest(std::int64_t largest_ns) noexcept {
    if (largest_ns >= 1'000'000'000'000) return {"s", 1e9};
    if (largest_ns >= 10'000'000) return {"ms", 1e6};
    return {"us", 1e3};
}

time_unit time_unit::for_step(double step_ns) noexcept {
    const unit_of_time unit = unit_of_step(step_ns);
    return {unit.name, unit.ns};
}

std::string time_unit::format(double value_ns) const {
    const auto thousandths = static_cast<std::uint64_t>(std::llround(std::max(0.0, value_ns) / ns * 1000));
    return fmt::format("{}.{:03}", with_thousands(thousandths / 1000), thousandths % 1000);
}

std::string percent(double share) { return fmt::format("{:.1f} %", share * 100); }

std::vector<std::size_t> text_table::natural_widths() const {
    std::vector<std::size_t> widths(columns_.size());
    for (std::size_t i = 0; i < columns_.size(); ++i) {
        widths[i] = display_width(columns_[i].title);
        for (const auto& row : rows_) {
            if (!row.empty()) widths[i] = std::max(widths[i], display_width(row[i]));
        }
    }
    return widths;
}

std::size_t text_table::width_of(const std::vector<std::size_t>& widths, const std::vector<bool>& shown,
                                 std::size_t longest_name) const {
    std::size_t sum = 0;
    std::size_t count = 0;
    for (std::size_t i = 0; i < columns_.size(); ++i) {
        if (!shown[i]) continue;
        sum += columns_[i].flexible ? std::min(widths[i], longest_name) : widths[i];
        ++count;
    }
    return sum + gap * (std::max<std::size_t>(count, 1) - 1);
}

std::vector<bool> text_table::shown(std::size_t width) const {
    const std::vector<std::size_t> widths = natural_widths();
    std::vector<bool> out(columns_.size(), true);
    int most = 0;  // the number of the least important columns still shown
    for (const column& c : columns_) most = std::max(most, c.importance);
    for (; most > 0 && width_of(widths, out, least_name_width * 2) > width; --most) {
        for (std::size_t i = 0; i < columns_.size(); ++i) out[i] = out[i] && columns_[i].importance < most;
    }
    return out;
}

std::string text_table::render(std::size_t width) const {
    const std::vector<bool> shown = this->shown(width);
    std::vector<std::size_t> widths = natural_widths();
    std::vector<std::size_t> flexible;  // narrowest first: what those leave the wider ones share
    for (std::size_t i = 0; i < columns_.size(); ++i) {
        if (columns_[i].flexible && shown[i]) flexible.push_back(i);
    }
    std::stable_sort(flexible.begin(), flexible.end(),
                     [&](std::size_t a, std::size_t b) { return widths[a] < widths[b]; });
    const std::size_t others = width_of(widths, shown, 0);
    std::size_t left = width > others ? width - others : 0;
    for (std::size_t i = 0; i < flexible.size(); ++i) {
        std::size_t& of = widths[flexible[i]];
        of = std::min(of, std::max(left / (flexible.size() - i), least_name_width));
        left -= std::min(left, of);
    }

    std::vector<std::vector<std::string>> rows = rows_;
    for (const std::size_t i : flexible) cut_column(rows, i, widths[i]);

    std::string out;
    const auto line = [&](const auto& cell_of) {
        std::string text;
        bool is_first = true;
        for (std::size_t i = 0; i < columns_.size(); ++i) {
            if (!shown[i]) continue;
            if (!is_first) text.append(gap, ' ');
            is_first = false;
            const std::string cell = shortened(cell_of(i), widths[i]);
            const std::size_t padding = widths[i] - display_width(cell);
            if (!columns_[i].flexible) text.append(padding, ' ');
            text += cell;
            if (columns_[i].flexible) text.append(padding, ' ');
        }
        text.erase(text.find_last_not_of(' ') + 1);
        out += text + '\n';
    };
    const auto rule = [&] { line([&](std::size_t i) { return std::string(widths[i], '-'); }); };
    line([&](std::size_t i) { return columns_[i].title; });
    rule();
    for (const auto& row : rows) {
        if (row.empty()) {
            rule();
        } else {
            line([&](std::size_t i) { return row[i]; });
        }
    }
    return out;
}

}  // namespace prof
