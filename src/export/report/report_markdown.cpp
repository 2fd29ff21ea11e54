// SPDX-License-Identifier: Apache-2.0
// Reports as GitHub's Markdown, for pages and for the summaries of a CI: the same rows and notes as in text, without a
// width. Of the columns it has those that matter most, and long names are shortened: CSV and JSON have all.
#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <set>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "base/display_text.hpp"
#include "base/json_text.hpp"
#include "export/report/cell_text.hpp"
#include "export/report/finding_lines.hpp"
#include "export/report/name_cut.hpp"
#include "export/report/report_writer.hpp"
#include "export/report/screen/first_screen.hpp"
#include "export/report/shown_document.hpp"
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

struct markdown_layout {
    bool is_wide;
    bool legend;
    shown_limits shown;

    bool shows(const table_column& column) const noexcept {
        return !column.title.empty() && (is_wide || column.importance <= least_importance);
    }
};

// The cells of a column, each not longer than there is room for.
std::vector<std::string> column_cells(const table& of, std::size_t column, const time_unit& unit, bool is_wide) {
    std::vector<std::string> out;
    for (const auto* const rows : {&of.rows, &of.sums}) {
        for (const table_row& row : *rows) out.push_back(cell_text(of.columns[column], row[column], unit));
    }
    return is_wide ? out : cut_names(out, longest_cell);
}

std::string rows_markdown(const table& of, const time_unit& unit, const markdown_layout& layout) {
    std::string titles = "|";
    std::string rule = "|";
    std::vector<std::string> rows(of.rows.size() + of.sums.size(), "|");
    for (std::size_t i = 0; i < of.columns.size(); ++i) {
        const table_column& column = of.columns[i];
        if (!layout.shows(column)) continue;
        titles += ' ' + markdown(column.title) + " |";
        rule += column.holds == quantity::text ? " :-- |" : " --: |";
        const std::vector<std::string> cells = column_cells(of, i, unit, layout.is_wide);
        for (std::size_t row = 0; row < rows.size(); ++row) {
            const std::string_view emphasis = row < of.rows.size() ? "" : "**";
            const std::string cell = markdown(cells[row]);
            rows[row] += cell.empty() ? " |" : fmt::format(" {}{}{} |", emphasis, cell, emphasis);
        }
    }
    std::string out = titles + '\n' + rule + '\n';
    for (const std::string& row : rows) out += row + '\n';
    return out;
}

// Without the lines of `explained`, to which these are added.
std::string legend_markdown(const table& of, const markdown_layout& layout, std::set<std::string>& explained) {
    std::string out;
    for (const legend_line& line : of.legend) {
        const bool is_shown =
            line.column.empty() || std::any_of(of.columns.begin(), of.columns.end(), [&](const table_column& column) {
                return layout.shows(column) && column.title == line.column;
            });
        if (is_shown && explained.insert(line.text).second) out += markdown(line.text) + '\n';
    }
    return out;
}

std::string table_markdown(const table& of, const markdown_layout& layout, std::set<std::string>& explained) {
    const time_unit unit = unit_of(of);
    std::string out = "## " + markdown(table_heading(of, unit)) + '\n';
    if (has_rows(of)) out += '\n' + rows_markdown(of, unit, layout);
    for (const std::string& note : of.notes) out += "\nNote: " + markdown(terminal_safe(note)) + '\n';
    if (!has_rows(of) || !layout.legend) return out;
    const std::string legend = legend_markdown(of, layout, explained);
    return legend.empty() ? out : out + '\n' + legend;
}

class markdown_writer final : public report_writer {
public:
    explicit markdown_writer(const markdown_layout& layout) : layout_(layout) {}

    void add(const report_document& whole) override {
        const report_document document = shown_document(whole, layout_.shown);
        const capture_heading& capture = document.capture;
        if (!out_.empty()) out_ += '\n';
        out_ += "# " + markdown(terminal_safe(capture.title)) + '\n';
        if (!capture.command.empty()) out_ += "\n    $ " + terminal_safe(capture.command) + '\n';
        if (!capture.windows.empty()) out_ += '\n' + markdown(capture.windows) + '\n';
        if (capture.selection) out_ += '\n' + markdown(line_of_selection(capture)) + '\n';
        add_list(lines_above(capture));
        const std::vector<std::string> screen = first_screen(document, {});
        if (!screen.empty()) out_ += fmt::format("\n```text\n{}\n```\n", fmt::join(screen, "\n"));
        for (const report_part& part : document.parts) {
            for (const report_block& block : part.blocks) {
                std::visit([this](const auto& held) { add_block(held); }, block);
            }
        }
        const std::vector<std::string> notes = closing_notes(document);
        if (!notes.empty()) out_ += "\n## Notes\n";
        add_list(notes);
    }

    std::string text() const override { return out_; }

private:
    void add_block(const answer_block& /*block*/) {}  // it is the first screen
    void add_block(const text_block& block) { add_list(block.paragraphs); }
    void add_block(const findings_block& block) { add_list(finding_lines(block)); }
    void add_block(const table& block) {
        if (is_shown(block)) out_ += '\n' + table_markdown(block, layout_, explained_);
    }

    template <typename TText>
    void add_list(const std::vector<TText>& lines) {
        if (!lines.empty()) out_ += '\n';
        for (const TText& line : lines) {
            const std::string_view text = line;
            const std::size_t depth = std::min(text.find_first_not_of(' '), text.size());
            if (depth != text.size()) {
                out_.append(text.substr(0, depth)).append("- ").append(markdown(text.substr(depth))) += '\n';
            }
        }
    }

    markdown_layout layout_;
    std::set<std::string> explained_;  // lines of legends, which stand with the first table that has them
    std::string out_;
};

}  // namespace

std::unique_ptr<report_writer> make_markdown_writer(const writer_options& options) {
    return std::make_unique<markdown_writer>(markdown_layout{
        .is_wide = options.layout.width == any_width, .legend = options.layout.legend, .shown = options.layout.shown});
}

}  // namespace prof
