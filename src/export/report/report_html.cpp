// SPDX-License-Identifier: Apache-2.0
// Reports as HTML without a head, for notebooks and pages: the same blocks, rows and notes as in text, and all columns
// that tables for people have. Names are escaped, and nothing is loaded from elsewhere.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "base/json_text.hpp"
#include "base/markup_text.hpp"
#include "export/report/cell_text.hpp"
#include "export/report/finding_lines.hpp"
#include "export/report/report_writer.hpp"
#include "export/report/screen/screen_blocks.hpp"
#include "export/report/shown_document.hpp"
#include "export/report/text_table.hpp"

namespace prof {
namespace {

// The blanks before it, which show the depth of a row or a line, are kept.
std::string with_depth(std::string_view text) {
    std::string out;
    for (; text.starts_with(' '); text.remove_prefix(1)) out += "&nbsp;";
    return out + markup_text(text);
}

std::string paragraph(std::string_view line) { return "<p>" + with_depth(line) + "</p>\n"; }

std::string cell_html(std::string_view tag, const table_column& column, std::string_view text) {
    const std::string_view side = column.holds == quantity::text ? "left" : "right";
    return fmt::format("<{0} style=\"text-align:{1}\">{2}</{0}>", tag, side, with_depth(text));
}

std::string row_html(std::string_view tag, const table& made, const table_row& row, const time_unit& unit) {
    std::string out = "<tr>";
    for (std::size_t i = 0; i < row.size(); ++i) {
        if (!made.columns[i].title.empty())
            out += cell_html(tag, made.columns[i], cell_text(made.columns[i], row[i], unit));
    }
    return out + "</tr>\n";
}

std::string rows_html(const table& made, const time_unit& unit) {
    std::string out = "<table>\n<thead><tr>";
    for (const table_column& column : made.columns) {
        if (!column.title.empty()) out += cell_html("th", column, column.title);
    }
    out += "</tr></thead>\n<tbody>\n";
    for (const table_row& row : made.rows) out += row_html("td", made, row, unit);
    for (const table_row& row : made.sums) out += row_html("th", made, row, unit);
    return out + "</tbody>\n</table>\n";
}

// It is the first screen.
std::string block_html(const answer_block& /*block*/, const text_layout& /*layout*/) { return {}; }

std::string lines_html(const std::vector<std::string>& lines) {
    std::string out;
    for (const std::string& line : lines) {
        if (!line.empty()) out += paragraph(line);
    }
    return out;
}
std::string block_html(const text_block& block, const text_layout& /*layout*/) { return lines_html(block.paragraphs); }
std::string block_html(const findings_block& block, const text_layout& /*layout*/) {
    return lines_html(finding_lines(block));
}

std::string block_html(const table& made, const text_layout& layout) {
    if (!is_shown(made)) return {};
    const time_unit unit = unit_of(made);
    std::string out = "<h4>" + markup_text(terminal_safe(table_heading(made, unit))) + "</h4>\n";
    if (has_rows(made)) out += rows_html(made, unit);
    for (const std::string& note : made.notes) out += paragraph("note: " + terminal_safe(note));
    if (!has_rows(made) || !layout.legend) return out;
    for (const legend_line& line : made.legend) out += "<p><small>" + markup_text(line.text) + "</small></p>\n";
    return out;
}

// The step as a bar, busy then idle. Shape carries the meaning: idle parts are hatched.
std::string bar_html(const std::vector<bar_part>& parts) {
    constexpr std::array<std::string_view, 4> busy = {"#4e79a7", "#76b7b2", "#59a14f", "#b07aa1"};
    std::string out = "<div style=\"display:flex;height:1.4em;line-height:1.4em;font-size:smaller;max-width:60em\">";
    std::size_t count = 0;
    for (const bar_part& part : parts) {
        const std::string fill =
            part.is_idle ? "color:#333;background:repeating-linear-gradient(45deg,#ddd 0 4px,#f4f4f4 4px 8px)"
                         : fmt::format("color:#fff;background:{}", busy[std::min(count++, busy.size() - 1)]);
        const std::string name = markup_text(part.name.empty() ? "other" : part.name);
        out += fmt::format(
            "<span title=\"{0}\" style=\"flex:{1:.0f} 1 0;min-width:2px;margin-right:1px;overflow:hidden;"
            "white-space:nowrap;text-align:center;{2}\">{0}</span>",
            part.is_idle ? "idle: " + name : name, part.ns, fill);
    }
    return out + "</div>\n";
}

std::string side_cell(std::string_view tag, std::string_view side, std::string_view text) {
    return fmt::format("<{0} style=\"text-align:{1}\">{2}</{0}>", tag, side, with_depth(text));
}

// Above the idle columns stands what they are.
std::string grid_html(const screen_grid& of) {
    std::string out = "<table>\n<thead><tr>" + side_cell("th", "left", of.corner);
    for (const screen_grid::column& column : of.columns) {
        std::string title = column.head.empty() ? column.title : column.head + " " + column.title;
        if (column.is_idle) title = column.title == "idle" ? "GPU idle" : "idle: " + column.title;
        out += side_cell("th", "right", title.empty() ? "%" : title);
    }
    out += "</tr></thead>\n<tbody>\n";
    for (const screen_grid::row& row : of.rows) {
        const std::string_view tag = row.is_sum ? "th" : "td";
        out += "<tr>" + side_cell(tag, "left", std::string(4 * row.depth, ' ') + row.name);
        for (const std::string& cell : row.cells) out += side_cell(tag, "right", cell);
        out += "</tr>\n";
    }
    return out + "</tbody>\n</table>\n";
}

std::string blocks_html(const screen_blocks& of) {
    std::string out = "<table>\n<tbody>\n";
    for (const auto& [word, text] : of.facts) {
        out += "<tr>" + side_cell("th", "left", word) + side_cell("td", "left", text) + "</tr>\n";
    }
    out += "</tbody>\n</table>\n" + bar_html(of.bar) + grid_html(of.table);
    if (!of.gains_heading.empty()) out += paragraph(of.gains_heading);
    if (!of.gains.empty()) {
        out += "<table>\n<tbody>\n";
        for (const screen_blocks::gain& gain : of.gains) {
            out += "<tr>" + side_cell("td", "right", gain.time) + side_cell("td", "right", gain.share) +
                   side_cell("td", "left", gain.what) +
                   side_cell("td", "left", gain.advice.empty() ? "" : "try " + gain.advice) + "</tr>\n";
        }
        out += "</tbody>\n</table>\n";
    }
    if (!of.next.empty()) out += "<p>next: <code>" + markup_text(of.next) + "</code></p>\n";
    return out;
}

class html_writer final : public report_writer {
public:
    explicit html_writer(const text_layout& layout) : layout_(layout) { layout_.width = any_width; }

    void add(const report_document& whole) override {
        const report_document document = shown_document(whole, layout_.shown);
        const capture_heading& capture = document.capture;
        out_ += "<section>\n<h3>" + markup_text(terminal_safe(capture.title)) + "</h3>\n";
        if (!capture.command.empty()) out_ += "<pre>$ " + markup_text(terminal_safe(capture.command)) + "</pre>\n";
        if (!capture.windows.empty()) out_ += paragraph(capture.windows);
        if (capture.selection) out_ += paragraph(line_of_selection(capture));
        out_ += lines_html(lines_above(capture));
        if (const std::optional<screen_blocks> screen = screen_blocks_of(document)) out_ += blocks_html(*screen);
        for (const report_part& part : document.parts) {
            for (const report_block& block : part.blocks) {
                out_ += std::visit([this](const auto& held) { return block_html(held, layout_); }, block);
            }
        }
        for (const std::string& note : closing_notes(document)) out_ += paragraph("note: " + note);
        out_ += "</section>\n";
    }

    std::string text() const override { return out_; }

private:
    text_layout layout_;
    std::string out_;
};

}  // namespace

std::unique_ptr<report_writer> make_html_writer(const writer_options& options) {
    return std::make_unique<html_writer>(options.layout);
}

}  // namespace prof
