// SPDX-License-Identifier: Apache-2.0
#include "export/report/shown_document.hpp"

#include <algorithm>
#include <iterator>
#include <utility>

#include "export/report/cell_text.hpp"

namespace prof {
namespace {

void append(std::vector<std::string>& to, std::vector<std::string>&& lines) {
    to.insert(to.end(), std::make_move_iterator(lines.begin()), std::make_move_iterator(lines.end()));
}

// All but the rows, which may be many.
table without_rows(const table& whole) {
    return {.report = whole.report,
            .heading = whole.heading,
            .columns = whole.columns,
            .rows = {},
            .totals = whole.totals,
            .notes = whole.notes,
            .legend = whole.legend,
            .rows_key = whole.rows_key,
            .remark = whole.remark,
            .sums = {},
            .shows_if_empty = whole.shows_if_empty,
            .instead = {},
            .unit_ns = whole.unit_ns,
            .step_ns = whole.step_ns};
}

table shown_table(const table& whole, const shown_limits& limits, std::vector<std::string>& reading_notes) {
    if (!whole.shorten) return whole;
    table out = without_rows(whole);
    if (!whole.instead.empty()) {
        out.instead = whole.instead;
        return out;
    }
    shown_rows shown = whole.shorten(whole, limits);
    out.rows = std::move(shown.rows);
    out.sums = std::move(shown.sums);
    out.instead = std::move(shown.instead);
    append(out.notes, std::move(shown.notes));
    append(reading_notes, std::move(shown.reading_notes));
    return out;
}

report_part shown_part(const report_part& part, const shown_limits& limits) {
    report_part out{.name = part.name, .is_nsight = part.is_nsight};
    for (const report_block& block : part.blocks) {
        if (const auto* const whole = std::get_if<table>(&block)) {
            out.blocks.emplace_back(shown_table(*whole, limits, out.reading_notes));
        } else {
            out.blocks.push_back(block);
        }
    }
    out.reading_notes.insert(out.reading_notes.end(), part.reading_notes.begin(), part.reading_notes.end());
    return out;
}

bool has_any_rows(const report_part& part) {
    const auto holds_rows = [](const report_block& block) {
        if (const auto* const found = std::get_if<findings_block>(&block)) return !found->found.findings.empty();
        const auto* const made = std::get_if<table>(&block);
        return made != nullptr && !made->rows.empty();
    };
    return std::any_of(part.blocks.begin(), part.blocks.end(), holds_rows);
}

// A note names the reports that are left out.
void leave_out_empty_reports(report_document& document) {
    std::vector<report_part> kept;
    std::string empty;
    for (report_part& part : document.parts) {
        if (has_any_rows(part)) {
            kept.push_back(std::move(part));
        } else {
            empty.append(empty.empty() ? "" : ", ").append(part.name);
        }
    }
    if (!empty.empty() && !kept.empty()) kept.back().reading_notes.push_back("reports without rows: " + empty);
    if (!kept.empty()) document.parts = std::move(kept);
}

}  // namespace

report_document shown_document(const report_document& document, const shown_limits& limits) {
    report_document out{.capture = document.capture, .has_all_reports = document.has_all_reports};
    for (const report_part& part : document.parts) out.parts.push_back(shown_part(part, limits));
    if (out.has_all_reports) leave_out_empty_reports(out);
    return out;
}

bool is_shown(const table& made) noexcept {
    const bool is_for_people = std::any_of(made.columns.begin(), made.columns.end(),
                                           [](const table_column& column) { return !column.title.empty(); });
    return is_for_people && (made.shows_if_empty || !made.rows.empty());
}

bool has_rows(const table& made) noexcept { return !made.rows.empty() && made.instead.empty(); }

std::string table_heading(const table& made, const time_unit& unit) {
    std::string out = made.heading;
    if (!made.instead.empty()) out += ": " + made.instead;
    if (!has_rows(made)) return out;
    if (has_times(made)) out.append(", in ").append(unit.name);
    return out + made.remark;
}

}  // namespace prof
