// SPDX-License-Identifier: Apache-2.0
// Reports as GitHub's Markdown, for pages and for the summaries of a CI: the same rows and notes as in text, without a
// width. Of the columns it has those that matter most, and long names are shortened: CSV and JSON have all.
#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <optional>
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
#include "export/report/screen/screen_blocks.hpp"
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

// "████ backward ████ ░░ launches ░░", as on a terminal.
std::string bar_markdown(const std::vector<bar_part>& parts) {
    double whole = 0;
    for (const bar_part& part : parts) whole += part.ns;
    if (!(whole > 0)) return {};
    constexpr double cells = 60;
    std::string out;
    for (const bar_part& part : parts) {
        const auto width = static_cast<std::size_t>(std::max(1.0, cells * part.ns / whole / 2 + 0.5));
        std::string block;
        for (std::size_t i = 0; i < width; ++i) block += part.is_idle ? "░" : "█";
        out += out.empty() ? "" : " ";
        out += part.name.empty() ? block : fmt::format("{} {} {}", block, part.name, block);
    }
    return out;
}

std::string grid_markdown(const screen_grid& of) {
    std::string titles = "| " + markdown(of.corner) + " |";
    std::string rule = "| :-- |";
    for (const screen_grid::column& column : of.columns) {
        std::string title = column.head.empty() ? column.title : column.head + " " + column.title;
        if (column.is_idle) title = column.title == "idle" ? "GPU idle" : "idle: " + column.title;
        titles += " " + markdown(title.empty() ? "%" : title) + " |";
        rule += " --: |";
    }
    std::string out = titles + '\n' + rule + '\n';
    for (const screen_grid::row& row : of.rows) {
        const std::string_view emphasis = row.is_sum ? "**" : "";
        out += fmt::format("| {}{}{}{} |", emphasis, markdown(std::string(4 * row.depth, ' ')), markdown(row.name),
                           emphasis);
        for (const std::string& cell : row.cells) {
            out += cell.empty() ? " |" : fmt::format(" {}{}{} |", emphasis, markdown(cell), emphasis);
        }
        out += '\n';
    }
    return out;
}

std::string blocks_markdown(const screen_blocks& of) {
    std::string out = "\n";
    for (const auto& [word, text] : of.facts) out += fmt::format("- **{}** {}\n", markdown(word), markdown(text));
    if (const std::string bar = bar_markdown(of.bar); !bar.empty()) out += "\n    " + bar + '\n';
    out += '\n' + grid_markdown(of.table);
    if (!of.gains_heading.empty()) out += '\n' + markdown(of.gains_heading) + '\n';
    if (!of.gains.empty()) {
        out += "\n| gain | of a step | what | try |\n| --: | --: | :-- | :-- |\n";
        for (const screen_blocks::gain& gain : of.gains) {
            out += fmt::format("| {} | {} | {} |", markdown(gain.time), markdown(gain.share), markdown(gain.what));
            out += gain.advice.empty() ? " |\n" : fmt::format(" {} |\n", markdown(gain.advice));
        }
    }
    if (!of.next.empty()) out += "\nNext:\n\n    " + of.next + '\n';
    return out;
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
        if (const std::optional<screen_blocks> screen = screen_blocks_of(document)) out_ += blocks_markdown(*screen);
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
