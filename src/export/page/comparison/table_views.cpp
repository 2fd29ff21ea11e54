// SPDX-License-Identifier: Apache-2.0
// Views that are a table of the comparison's reports and nothing else.
#include <fmt/format.h>

#include <algorithm>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/display_text.hpp"
#include "export/page/comparison/comparison_views.hpp"
#include "export/page/page_text.hpp"
#include "export/report/cell_text.hpp"

namespace prof {
namespace {

constexpr std::size_t most_rows_of_table = 25;
constexpr std::size_t longest_text = 110;

struct table_view {
    std::string_view report;
    std::string_view name;
    std::string_view heading;
    std::string_view link;
};

constexpr table_view first_views[] = {
    {"diff_gate", "limits", "Limits", "Limits"},
    {"diff_differences", "differences", "Not the same on both sides", "Differences"},
};
constexpr table_view last_views[] = {
    {"diff_findings", "changed-findings", "Findings that went, came and stayed", "Findings"},
    {"diff_modules", "changed-modules", "Modules that changed most", ""},
    {"diff_kernels", "changed-kernels", "Kernels that changed most", "Kernels"},
    {"diff_lines", "changed-lines", "Lines that changed most", "Lines"},
    {"diff_memory", "changed-memory", "Memory at the peak, what changed most", "Memory"},
};

// A true minus, and a dash for what is not there.
std::string number_cell(const std::string& text) {
    if (text == "-") return "–";
    if (text.size() > 1 && text[0] == '-') return "\u2212" + text.substr(1);
    return text;
}

// As people see it. The columns that tables on paper drop first are not there.
page_table page_table_of(const table& of) {
    constexpr int least_important = 3;
    page_table out;
    const time_unit unit = unit_of(of);
    std::vector<std::size_t> columns;
    for (std::size_t i = 0; i < of.columns.size(); ++i) {
        const table_column& column = of.columns[i];
        if (column.title.empty() || column.importance >= least_important) continue;
        columns.push_back(i);
        const bool is_time = column.holds == quantity::time_ns || column.holds == quantity::change_ns;
        out.columns.push_back(
            {is_time ? fmt::format("{}, {}", column.title, unit.name) : column.title, column.holds != quantity::text});
    }
    const shown_rows shown =
        of.shorten ? of.shorten(of, {.rows = most_rows_of_table}) : shown_rows{.rows = of.rows, .sums = of.sums};
    for (const table_row& row : shown.rows) {
        std::vector<std::string> cells;
        for (const std::size_t i : columns) {
            const std::string text = cell_text(of.columns[i], row[i], unit);
            if (of.columns[i].holds != quantity::text) {
                cells.push_back(number_cell(text));
            } else {
                cells.push_back(page_label(cells.empty() ? shortened(text, longest_text) : text));
            }
        }
        out.rows.push_back(std::move(cells));
    }
    for (const std::string& note : shown.notes) {
        // It names an option of the command.
        if (out.caption.empty() && note.find(';') != std::string::npos) out.caption = note.substr(0, note.find(';'));
    }
    return out;
}

std::vector<page_view> views_of(const comparison_page_input& input, std::span<const table_view> kinds) {
    std::vector<page_view> out;
    for (const table_view& kind : kinds) {
        const report_part* const part = input.part(kind.report);
        const table* const of = part == nullptr ? nullptr : block_in<table>(*part);
        if (of == nullptr || of->rows.empty()) continue;
        page_table made = page_table_of(*of);
        if (made.rows.empty()) continue;
        page_view view{.name = std::string(kind.name),
                       .heading = std::string(kind.heading),
                       .link = std::string(kind.link),
                       .keeps_blocks = true};
        view.blocks.emplace_back(std::move(made));
        if (!of->notes.empty()) {
            page_list notes;
            for (const std::string& note : of->notes) notes.items.push_back(page_sentence(note));
            view.blocks.emplace_back(std::move(notes));
        }
        out.push_back(std::move(view));
    }
    return out;
}

}  // namespace

page_view make_figures_view(const comparison_page_input& input) {
    page_view out{.name = "figures", .keeps_blocks = true};
    const report_part* const part = input.part("diff");
    const table* const of = part == nullptr ? nullptr : block_in<table>(*part);
    if (of == nullptr) return out;
    page_table made = page_table_of(*of);
    made.caption = input.of.has_steps ? "A step, with the interval of 95 % of each change" : "All that was recorded";
    out.blocks.emplace_back(std::move(made));
    return out;
}

std::vector<page_view> make_first_table_views(const comparison_page_input& input) {
    return views_of(input, first_views);
}

std::vector<page_view> make_last_table_views(const comparison_page_input& input) {
    std::vector<page_view> out = views_of(input, last_views);
    page_view notes{.name = "notes", .heading = "Notes", .keeps_blocks = true};
    page_list list;
    for (const std::string& note : input.document.capture.notes) list.items.push_back(page_sentence(note));
    for (const std::string& file : input.document.capture.members) list.items.push_back("read: " + page_name(file));
    notes.blocks.emplace_back(std::move(list));
    out.push_back(std::move(notes));
    return out;
}

}  // namespace prof
