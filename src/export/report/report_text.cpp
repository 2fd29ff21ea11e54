// SPDX-License-Identifier: Apache-2.0
#include "export/report/report_text.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <string_view>
#include <utility>
#include <vector>

#include "base/display_text.hpp"
#include "base/json_text.hpp"
#include "export/report/cell_text.hpp"
#include "export/report/report_writer.hpp"
#include "export/report/text_table.hpp"

namespace prof {
namespace {

std::string title_text(const capture_heading& capture, const text_layout& layout) {
    std::string out = terminal_safe(capture.title) + '\n';
    if (!capture.command.empty()) out += shortened("$ " + terminal_safe(capture.command), layout.width) + '\n';
    if (!capture.windows.empty()) out += capture.windows + '\n';
    return out;
}

std::vector<std::string> row_text(const table& of, const table_row& row, const time_unit& unit) {
    std::vector<std::string> cells;
    for (std::size_t i = 0; i < row.size(); ++i) {
        if (!of.columns[i].title.empty()) cells.push_back(cell_text(of.columns[i], row[i], unit));
    }
    return cells;
}

// One capture after another, with an empty line between.
class text_writer final : public report_writer {
public:
    explicit text_writer(const text_layout& layout) : layout_(layout) {}

    void add(const report_document& document) override {
        if (!out_.empty()) out_ += '\n';
        out_ += document_text(document, layout_);
    }
    std::string text() const override { return out_; }

private:
    text_layout layout_;
    std::string out_;
};

}  // namespace

std::string table_text(const table& of, const text_layout& layout) {
    const time_unit unit = unit_of(of);
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
    return std::make_unique<text_writer>(options.layout);
}

}  // namespace prof
