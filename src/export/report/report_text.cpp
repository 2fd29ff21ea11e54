// SPDX-License-Identifier: Apache-2.0
#include "export/report/report_text.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string_view>
#include <utility>
#include <vector>

#include "analysis/reports/process_overview.hpp"
#include "base/display_text.hpp"
#include "base/json_text.hpp"
#include "export/report/cell_text.hpp"
#include "export/report/common_lines.hpp"
#include "export/report/report_writer.hpp"
#include "export/report/text_table.hpp"

namespace prof {
namespace {

std::string title_text(const capture_heading& capture, const text_layout& layout) {
    std::string out = terminal_safe(capture.title) + '\n';
    if (!capture.command.empty()) out += shortened("$ " + terminal_safe(capture.command), layout.width) + '\n';
    if (!capture.windows.empty()) out += capture.windows + '\n';
    for (const std::string& line : lines_above(capture)) out += line + '\n';
    return out;
}

std::vector<std::string> row_text(const table& of, const table_row& row, const time_unit& unit) {
    std::vector<std::string> cells;
    for (std::size_t i = 0; i < row.size(); ++i) {
        if (!of.columns[i].title.empty()) cells.push_back(cell_text(of.columns[i], row[i], unit));
    }
    return cells;
}

// The time that the unit of all tables is chosen for.
std::int64_t largest_time(const std::vector<report_document>& documents) {
    std::int64_t largest = 0;
    for (const report_document& document : documents) {
        for (const report_part& part : document.parts) {
            for (const table& of : part.tables) {
                if (is_shown(of)) largest = std::max(largest, largest_time(of));
            }
        }
    }
    return largest;
}

// One capture after another, with an empty line between. Before several stands an overview of the processes, and all
// have one unit of time.
class text_writer final : public report_writer {
public:
    text_writer(const text_layout& layout, bool outline) : layout_(layout), outline_(outline) {}

    void add(const report_document& document) override { documents_.push_back(document); }

    std::string text() const override {
        if (documents_.size() < 2)
            return documents_.empty() ? std::string() : document_text(documents_.front(), layout_);
        std::vector<captured_process> processes;
        for (const report_document& document : documents_) processes.push_back(document.capture.process);
        std::vector<bool> shown(documents_.size(), true);
        if (outline_) shown = processes_with_tables(processes, most_tables);

        const table overview = process_overview(processes);
        text_layout layout = layout_;
        layout.unit_ns = std::max(largest_time(overview), largest_time(documents_));
        layout.legend = false;
        std::vector<report_document> with_tables;
        for (std::size_t i = 0; i < documents_.size(); ++i) {
            if (shown[i]) with_tables.push_back(documents_[i]);
        }
        const std::string common = take_common_lines(with_tables);
        std::string out = table_text(overview, layout);
        auto next = with_tables.begin();
        for (std::size_t i = 0; i < documents_.size(); ++i) {
            out += shown[i] ? '\n' + document_text(*next++, layout) : lines_of_another(documents_[i].capture);
        }
        if (!common.empty()) out += '\n' + common;
        const std::size_t left_out = documents_.size() - with_tables.size();
        if (left_out != 0) {
            out += fmt::format("\n{} of {} have no tables here: prof report FILE has them\n", left_out, shown.size());
        }
        return out;
    }

private:
    static constexpr std::size_t most_tables = 8;

    // Of a process without a table: what must be known of it all the same.
    static std::string lines_of_another(const capture_heading& capture) {
        if (capture.warnings.empty()) return {};
        std::string out = '\n' + terminal_safe(capture.title) + '\n';
        for (const std::string& line : lines_above(capture)) out += line + '\n';
        return out;
    }

    text_layout layout_;
    bool outline_;
    std::vector<report_document> documents_;
};

}  // namespace

std::string table_text(const table& of, const text_layout& layout) {
    const time_unit unit = layout.unit_ns ? time_unit::for_largest(*layout.unit_ns) : unit_of(of);
    std::vector<text_table::column> columns;
    for (const table_column& column : of.columns) {
        if (!column.title.empty()) columns.push_back({column.title, column.importance, column.holds == quantity::text});
    }
    text_table shown(std::move(columns));
    for (const table_row& row : of.rows) shown.add_row(row_text(of, row, unit));
    if (!of.sums.empty()) shown.add_rule();
    for (const table_row& row : of.sums) shown.add_row(row_text(of, row, unit));
    std::string out = of.heading;
    if (has_times(of)) out += fmt::format(", in {}", unit.name);
    out += of.remark + "\n\n" + shown.render(layout.width);
    for (const std::string& note : of.notes) out += "\nnote: " + note + '\n';
    if (layout.legend && !of.legend.empty()) out += '\n' + of.legend;
    return out;
}

std::string notes_text(const report_document& document) {
    std::string out;
    for (const std::string& note : closing_notes(document)) out += "note: " + note + '\n';
    return out;
}

std::string document_text(const report_document& document, const text_layout& layout) {
    std::string out = title_text(document.capture, layout);
    for (const report_part& part : document.parts) {
        if (part.step) out += '\n' + step_text(*part.step, layout);
        for (const table& of : part.tables) {
            if (is_shown(of)) out += '\n' + table_text(of, layout);
        }
    }
    const std::string notes = notes_text(document);
    if (!notes.empty()) out += '\n' + notes;
    return out;
}

std::unique_ptr<report_writer> make_text_writer(const writer_options& options) {
    return std::make_unique<text_writer>(options.layout, options.outline);
}

}  // namespace prof
