// SPDX-License-Identifier: Apache-2.0
#include "export/report/report_text.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string_view>
#include <utility>
#include <vector>

#include "base/display_text.hpp"
#include "base/json_text.hpp"
#include "export/report/cell_text.hpp"
#include "export/report/finding_lines.hpp"
#include "export/report/screen/first_screen.hpp"
#include "export/report/shown_document.hpp"
#include "export/report/text_style.hpp"
#include "export/report/text_table.hpp"

namespace prof {
namespace {

// A warning or a note.
std::string line_text(const std::string& line, const text_layout& layout) {
    return layout.wrap_lines ? wrapped(line, layout.width, "  ") : line + '\n';
}

std::string facts_text_of(const std::vector<std::string>& lines, const text_layout& layout) {
    std::string out;
    for (const std::string& line : lines) {
        const auto role = line.starts_with("warning: ") ? text_role::warning : text_role::plain;
        out += styled(line_text(line, layout), role, layout.color);
    }
    return out;
}

// `has_warnings`: they stand above it already.
std::string title_text(const capture_heading& capture, const text_layout& layout, bool has_warnings = false) {
    std::string out = styled(terminal_safe(capture.title), text_role::heading, layout.color) + '\n';
    if (!capture.command.empty()) out += shortened("$ " + terminal_safe(capture.command), layout.width) + '\n';
    if (!capture.windows.empty()) out += capture.windows + '\n';
    if (capture.selection) out += wrapped(line_of_selection(capture), layout.width, "  ");
    if (!has_warnings) return out + facts_text(capture, layout);
    capture_heading rest = capture;
    rest.warnings.clear();
    return out + facts_text(rest, layout);
}

// Its further lines stand two cells deeper than the first.
std::string paragraph_text(const std::string& line, const text_layout& layout) {
    const std::size_t depth = std::min(line.find_first_not_of(' '), line.size());
    return wrapped(line, layout.width, std::string(depth + 2, ' '));
}

std::vector<std::string> row_text(const table& of, const table_row& row, const time_unit& unit) {
    std::vector<std::string> cells;
    for (std::size_t i = 0; i < row.size(); ++i) {
        if (!of.columns[i].title.empty()) cells.push_back(cell_text(of.columns[i], row[i], unit));
    }
    return cells;
}

time_unit unit_in(const table& of, const text_layout& layout) {
    return layout.unit_ns ? time_unit::for_largest(*layout.unit_ns) : unit_of(of);
}

// A table with the columns that people see.
struct people_table {
    std::vector<text_table::column> columns;
    text_table rows;
    std::vector<bool> shown;  // per column

    people_table(const table& of, const text_layout& layout) : columns(columns_of(of)), rows(columns) {
        const time_unit unit = unit_in(of, layout);
        for (const table_row& row : of.rows) rows.add_row(row_text(of, row, unit));
        if (!of.sums.empty()) rows.add_rule();
        for (const table_row& row : of.sums) rows.add_row(row_text(of, row, unit));
        shown = rows.shown(layout.width);
    }

    // The columns that the table is too wide for.
    std::vector<std::string> left_out() const {
        std::vector<std::string> out;
        for (std::size_t i = 0; i < columns.size(); ++i) {
            if (!shown[i]) out.push_back(columns[i].title);
        }
        return out;
    }

    std::vector<std::string> legend(const table& of) const {
        std::vector<std::string> out;
        for (const legend_line& line : of.legend) {
            bool is_shown = line.column.empty();
            for (std::size_t i = 0; i < columns.size(); ++i) is_shown |= shown[i] && columns[i].title == line.column;
            if (is_shown) out.push_back(line.text);
        }
        return out;
    }

private:
    static std::vector<text_table::column> columns_of(const table& of) {
        std::vector<text_table::column> out;
        for (const table_column& column : of.columns) {
            if (!column.title.empty()) out.push_back({column.title, column.importance, column.holds == quantity::text});
        }
        return out;
    }
};

// The rows, and what explains their columns.
std::string body_text(const table& of, const text_layout& layout) {
    const people_table made(of, layout);
    const std::string text = made.rows.render(layout.width);
    const std::size_t titles = text.find('\n');
    std::string out = styled(text.substr(0, titles), text_role::heading, layout.color) + text.substr(titles);
    std::string below;
    if (layout.legend) below = explanation_text({made.left_out(), made.legend(of)}, layout);
    return below.empty() ? out : out + '\n' + styled(below, text_role::note, layout.color);
}

}  // namespace

std::string facts_text(const capture_heading& capture, const text_layout& layout) {
    return facts_text_of(lines_above(capture), layout);
}

std::string table_text(const table& of, const text_layout& layout) {
    std::string out = styled(table_heading(of, unit_in(of, layout)), text_role::heading, layout.color) + '\n';
    if (has_rows(of)) out += '\n' + body_text(of, layout);
    for (const std::string& note : of.notes) {
        out += '\n' + styled(line_text("note: " + note, layout), text_role::note, layout.color);
    }
    return out;
}

table_explanation explanation_of(const table& of, const text_layout& layout) {
    if (!has_rows(of)) return {};
    const people_table made(of, layout);
    return {made.left_out(), made.legend(of)};
}

std::string explanation_text(const table_explanation& of, const text_layout& layout) {
    const std::size_t width = layout.width;
    constexpr std::size_t widest_legend = 80;
    std::string out;
    if (!of.left_out.empty()) {
        out = wrapped(fmt::format("left out at {} columns: {}; {} shows all", width, fmt::join(of.left_out, ", "),
                                  layout.wide_option),
                      width);
    }
    if (!of.legend.empty())
        out += wrapped(fmt::format("{}", fmt::join(of.legend, " ")), std::min(width, widest_legend));
    return out;
}

std::string notes_text(const report_document& document, const text_layout& layout) {
    std::string out;
    for (const std::string& note : closing_notes(document)) out += line_text("note: " + note, layout);
    return styled(out, text_role::note, layout.color);
}

namespace {

// It is the first screen.
std::string block_text(const answer_block& /*block*/, const text_layout& /*layout*/) { return {}; }
std::string paragraphs_text(const std::vector<std::string>& paragraphs, const text_layout& layout) {
    std::string out = "\n";
    for (const std::string& line : paragraphs) out += paragraph_text(line, layout);
    return out;
}
std::string block_text(const text_block& block, const text_layout& layout) {
    return paragraphs_text(block.paragraphs, layout);
}
std::string block_text(const findings_block& block, const text_layout& layout) {
    return paragraphs_text(finding_lines(block), layout);
}
std::string block_text(const table& block, const text_layout& layout) {
    return is_shown(block) ? '\n' + table_text(block, layout) : std::string();
}

}  // namespace

std::string document_text(const report_document& whole, const text_layout& layout) {
    return shown_text(shown_document(whole, layout.shown), layout);
}

namespace {

// By the first words of the screen's lines, which do not change.
text_role role_of(std::string_view line) {
    if (line.starts_with("warning: ")) return text_role::warning;
    if (line.starts_with("prof  ") || line.starts_with("next: ")) return text_role::note;
    const bool is_head = line.starts_with("Step  ") || line.starts_with("Possible gains");
    return is_head ? text_role::heading : text_role::plain;
}

}  // namespace

screen_layout screen_layout_of(const text_layout& layout) {
    constexpr std::size_t widest = 120;
    return {.width = std::min(layout.width, widest), .lines = layout.lines, .is_ascii = layout.is_ascii};
}

std::string screen_text(const std::vector<std::string>& lines, const text_layout& layout) {
    std::string out;
    for (const std::string& line : lines) out += styled(line, role_of(line), layout.color) + '\n';
    return out;
}

std::string shown_text(const report_document& document, const text_layout& layout) {
    const bool has_screen = has_first_screen(document);
    std::string out;
    if (has_screen) {
        out = screen_text(first_screen(document, screen_layout_of(layout)), layout);
        if (layout.only_screen) return out;
        out += '\n';
    }
    out += title_text(document.capture, layout, has_screen);
    for (const report_part& part : document.parts) {
        for (const report_block& block : part.blocks) {
            out += std::visit([&](const auto& held) { return block_text(held, layout); }, block);
        }
    }
    const std::string notes = notes_text(document, layout);
    if (!notes.empty()) out += '\n' + notes;
    return out;
}

}  // namespace prof
