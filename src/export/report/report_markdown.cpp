// SPDX-License-Identifier: Apache-2.0
// Reports as GitHub's Markdown, for pages and for the summaries of a CI: the same rows and notes as in text, without a
// width. Of the columns it has those that matter most, and long names are shortened: CSV and JSON have all.
#include <fmt/format.h>

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/display_text.hpp"
#include "base/json_text.hpp"
#include "export/report/cell_text.hpp"
#include "export/report/report_writer.hpp"
#include "export/report/text_table.hpp"

namespace prof {
namespace {

constexpr int least_importance = 4;  // columns with a larger number (table_column::importance) are left out
constexpr std::size_t longest_cell = 100;

// Escapes text so that Markdown shows it unchanged. Leading blanks, the depth of a row, are kept.
std::string markdown(std::string_view text) {
    std::string out;
    for (; text.starts_with(' '); text.remove_prefix(1)) out += "&nbsp;";
    for (const char c : text) {
        if (std::string_view("\\`*_[]<>|~&$").find(c) != std::string_view::npos) out += '\\';
        out += c;
    }
    return out;
}

// REQUIRES: `text` ends with a newline.
std::vector<std::string_view> lines_in(std::string_view text) {
    std::vector<std::string_view> out;
    for (std::size_t end = 0; (end = text.find('\n')) != std::string_view::npos; text.remove_prefix(end + 1)) {
        out.push_back(text.substr(0, end));
    }
    return out;
}

bool is_in_markdown(const table_column& column) noexcept {
    return !column.title.empty() && column.importance <= least_importance;
}

std::string row_markdown(const table& of, const table_row& row, const time_unit& unit, std::string_view emphasis) {
    std::string out = "|";
    for (std::size_t i = 0; i < row.size(); ++i) {
        if (!is_in_markdown(of.columns[i])) continue;
        const std::string cell = markdown(shortened(cell_text(of.columns[i], row[i], unit), longest_cell));
        out += cell.empty() ? " |" : fmt::format(" {}{}{} |", emphasis, cell, emphasis);
    }
    return out + '\n';
}

std::string table_markdown(const table& of, bool with_legend) {
    const time_unit unit = unit_of(of);
    std::string out = "## " + markdown(of.heading);
    if (has_times(of)) out += fmt::format(", in {}", unit.name);
    out += markdown(of.remark) + "\n\n|";
    std::string rule = "|";
    for (const table_column& column : of.columns) {
        if (!is_in_markdown(column)) continue;
        out += ' ' + markdown(column.title) + " |";
        rule += column.holds == quantity::text ? " :-- |" : " --: |";
    }
    out += '\n' + rule + '\n';
    for (const table_row& row : of.rows) out += row_markdown(of, row, unit, "");
    for (const table_row& row : of.sums) out += row_markdown(of, row, unit, "**");
    for (const std::string& note : of.notes) out += "\nNote: " + markdown(terminal_safe(note)) + '\n';
    if (with_legend && !of.legend.empty()) out += '\n' + markdown(of.legend);
    return out;
}

class markdown_writer final : public report_writer {
public:
    explicit markdown_writer(bool with_legend) : with_legend_(with_legend) {}

    void add(const report_document& document) override {
        const capture_heading& capture = document.capture;
        if (!out_.empty()) out_ += '\n';
        out_ += "# " + markdown(terminal_safe(capture.title)) + '\n';
        if (!capture.command.empty()) out_ += "\n    $ " + terminal_safe(capture.command) + '\n';
        if (!capture.windows.empty()) out_ += '\n' + markdown(capture.windows) + '\n';
        add_list(lines_above(capture));
        for (const report_part& part : document.parts) {
            if (part.step) add_list(lines_in(step_text(*part.step, {.width = SIZE_MAX})));
            for (const table& of : part.tables) {
                if (is_shown(of)) out_ += '\n' + table_markdown(of, with_legend_);
            }
        }
        const std::vector<std::string> notes = closing_notes(document);
        if (!notes.empty()) out_ += "\n## Notes\n";
        add_list(notes);
    }

    std::string text() const override { return out_; }

private:
    template <typename TText>
    void add_list(const std::vector<TText>& lines) {
        if (!lines.empty()) out_ += '\n';
        for (const TText& line : lines) out_ += "- " + markdown(line) + '\n';
    }

    bool with_legend_;
    std::string out_;
};

}  // namespace

std::unique_ptr<report_writer> make_markdown_writer(const writer_options& options) {
    return std::make_unique<markdown_writer>(options.layout.legend);
}

}  // namespace prof
