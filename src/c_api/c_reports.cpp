// SPDX-License-Identifier: Apache-2.0
// Reports of a capture through the C interface (prof/read.h): tables of typed cells, and texts. Nothing throws across
// it.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <deque>
#include <iterator>
#include <limits>
#include <optional>
#include <variant>

#include "base/export_symbol.hpp"
#include "base/suggestion.hpp"
#include "c_api/c_reading.hpp"
#include "export/report/report_writer.hpp"
#include "report/make_reports.hpp"
#include "report/report_document.hpp"
#include "report/step_tables.hpp"
#include "report/table.hpp"
#include "report/tables/diagnosis_tables.hpp"

namespace prof {

struct read_column {
    std::size_t index;  // in the table's columns and in its rows
    prof_cell_type type;
};

// A table and its columns for programs.
struct read_table {
    const table* source;
    std::vector<read_column> columns;
};

}  // namespace prof

struct prof_report {
    std::shared_ptr<const prof::read_capture> read;
    const prof::report_kind* kind;
    prof::report_settings settings;
    prof::report_document document;
    // Tables of their own for the figures of a step and for findings.
    std::vector<prof::table> made;
    std::deque<prof::table> lined;  // copies of those with lists, which are texts of lines here
    std::vector<prof::read_table> tables;
    std::vector<std::string> notes;
};

namespace prof {
namespace {

prof_cell_type type_of(const table_cell& cell) noexcept {
    if (std::holds_alternative<std::monostate>(cell.value)) return PROF_CELL_ABSENT;
    if (std::holds_alternative<std::string>(cell.value)) return PROF_CELL_TEXT;
    if (std::holds_alternative<double>(cell.value)) return PROF_CELL_REAL;
    if (std::holds_alternative<bool>(cell.value)) return PROF_CELL_BOOLEAN;
    const auto* const natural = std::get_if<std::uint64_t>(&cell.value);
    const bool is_large = natural != nullptr && *natural > std::numeric_limits<std::int64_t>::max();
    return is_large ? PROF_CELL_UNSIGNED : PROF_CELL_INTEGER;
}

// The type that has the values of both.
prof_cell_type common_type(prof_cell_type a, prof_cell_type b) noexcept {
    for (const prof_cell_type wider : {PROF_CELL_TEXT, PROF_CELL_REAL, PROF_CELL_UNSIGNED, PROF_CELL_INTEGER}) {
        if (a == wider || b == wider) return wider;
    }
    return std::max(a, b);
}

prof_cell_type usual_type(quantity holds) noexcept {
    switch (holds) {
        case quantity::text:
            return PROF_CELL_TEXT;
        case quantity::flag:
            return PROF_CELL_BOOLEAN;
        case quantity::number:
        case quantity::mean_count:
        case quantity::share:
        case quantity::percent:
        case quantity::change_share:
            return PROF_CELL_REAL;
        case quantity::identity:
        case quantity::count:
        case quantity::time_ns:
        case quantity::moment_ns:
        case quantity::change_ns:
        case quantity::bytes:
        case quantity::change_bytes:
            break;
    }
    return PROF_CELL_INTEGER;
}

prof_unit unit_of_quantity(quantity holds) noexcept {
    switch (holds) {
        case quantity::text:
        case quantity::flag:
        case quantity::number:
        case quantity::mean_count:
            return PROF_UNIT_NONE;
        case quantity::identity:
            return PROF_UNIT_IDENTITY;
        case quantity::count:
            return PROF_UNIT_COUNT;
        case quantity::time_ns:
            return PROF_UNIT_NS;
        case quantity::moment_ns:
        case quantity::change_ns:
            return PROF_UNIT_NS_OF_TIME;
        case quantity::bytes:
        case quantity::change_bytes:
            return PROF_UNIT_BYTES;
        case quantity::share:
            return PROF_UNIT_SHARE;
        case quantity::percent:
        case quantity::change_share:
            break;
    }
    return PROF_UNIT_PERCENT;
}

prof_cell_type column_type(const table& source, std::size_t column) {
    prof_cell_type type = PROF_CELL_ABSENT;
    for (const table_row& row : source.rows) type = common_type(type, type_of(row[column]));
    return type == PROF_CELL_ABSENT ? usual_type(source.columns[column].holds) : type;
}

// The columns of JSON, which has those of CSV, too.
read_table as_read(const table& source) {
    read_table out{&source, {}};
    for (std::size_t i = 0; i < source.columns.size(); ++i) {
        const table_column& column = source.columns[i];
        if (column.key.empty() || column.formats == column_formats::csv) continue;
        out.columns.push_back({i, column_type(source, i)});
    }
    return out;
}

// A list is a text with a line for each of its texts.
table with_lines(table source) {
    const auto set_lines = [](table_cell& cell) {
        if (const auto* const list = std::get_if<text_list>(&cell.value)) {
            cell.value = fmt::format("{}", fmt::join(*list, "\n"));
        }
    };
    for (table_row& row : source.rows) std::for_each(row.begin(), row.end(), set_lines);
    for (auto& [key, total] : source.totals) set_lines(total);
    return source;
}

bool has_list(const table& source) {
    const auto is_list = [](const table_cell& cell) { return std::holds_alternative<text_list>(cell.value); };
    return std::any_of(source.rows.begin(), source.rows.end(),
                       [&](const table_row& row) { return std::any_of(row.begin(), row.end(), is_list); }) ||
           std::any_of(source.totals.begin(), source.totals.end(),
                       [&](const auto& total) { return is_list(total.second); });
}

std::unique_ptr<prof_report> made(const prof_capture& capture, const report_kind& kind,
                                  const report_settings& settings) {
    auto out = std::make_unique<prof_report>();
    out->read = capture.read;
    out->kind = &kind;
    out->settings = settings;
    out->document = make_reports(out->read->data, out->read->path, settings, std::span(&out->kind, 1));
    const report_part& part = out->document.parts.front();
    if (const auto* const found = block_in<findings_block>(part)) {
        out->made.push_back(with_lines(findings_table(found->found)));
    }
    if (const auto* const answer = block_in<answer_block>(part)) {
        std::vector<table> of_step = step_tables(part.name, *answer);
        std::move(of_step.begin(), of_step.end(), std::back_inserter(out->made));
    }
    const std::vector<const table*> given = tables_in(part);
    for (const table* const source : given) {
        const bool is_changed = has_list(*source);
        out->tables.push_back(as_read(is_changed ? out->lined.emplace_back(with_lines(*source)) : *source));
    }
    for (const table& source : out->made) out->tables.push_back(as_read(source));
    out->notes = all_notes(out->document.capture);
    for (const table* const source : given) {
        out->notes.insert(out->notes.end(), source->notes.begin(), source->notes.end());
    };
    return out;
}

std::string rendered(const prof_report& report, const report_format& format) {
    const std::unique_ptr<report_writer> writer =
        format.make({.layout = {.width = report.settings.width, .shown = report.settings.shown}});
    if (format.is_for_people && !report.settings.is_of_whole_run) {
        report_settings settings = report.settings;
        settings.of_a_step = true;
        writer->add(make_reports(report.read->data, report.read->path, settings, std::span(&report.kind, 1)));
    } else {
        writer->add(report.document);
    }
    return writer->text();
}

// For the caller to free.
char* copied(const std::string& text) {
    auto* const out = static_cast<char*>(std::malloc(text.size() + 1));
    if (out == nullptr) throw std::bad_alloc();
    std::memcpy(out, text.c_str(), text.size() + 1);
    return out;
}

std::int64_t integer_in(const table_cell& cell) noexcept {
    if (const auto* const whole = std::get_if<std::int64_t>(&cell.value)) return *whole;
    if (const auto* const whole = std::get_if<std::uint64_t>(&cell.value)) return static_cast<std::int64_t>(*whole);
    const auto* const flag = std::get_if<bool>(&cell.value);
    return flag != nullptr && *flag ? 1 : 0;
}

double real_in(const table_cell& cell) noexcept {
    if (const auto* const real = std::get_if<double>(&cell.value)) return *real;
    if (const auto* const whole = std::get_if<std::uint64_t>(&cell.value)) return static_cast<double>(*whole);
    return static_cast<double>(integer_in(cell));
}

int fill_cell(const table_cell& cell, prof_report_cell* out, std::size_t size) {
    prof_report_cell filled{};
    filled.type = type_of(cell);
    if (const auto* const text = std::get_if<std::string>(&cell.value)) {
        filled.text = text->c_str();
        filled.text_size = text->size();
    } else {
        filled.integer = integer_in(cell);
        filled.real = real_in(cell);
    }
    return fill_struct<40, 40>(filled, "prof_report_cell", out, size);
}

// Calls `action` with the table; PROF_INVALID_ARGUMENT if there is none.
template <typename TAction>
int with_table(const prof_report* report, std::size_t index, TAction&& action) {
    if (report == nullptr) return refuse_null("report");
    return caught(
        [&]() -> int {
            const auto& tables = report->tables;
            return index < tables.size() ? action(tables[index]) : no_such("table", index, tables.size());
        },
        int{PROF_FAILED});
}

template <typename TAction>
int with_column(const prof_report* report, std::size_t table, std::size_t index, TAction&& action) {
    return with_table(report, table, [&](const read_table& read) -> int {
        if (index >= read.columns.size()) return no_such("column", index, read.columns.size());
        return action(*read.source, read.columns[index]);
    });
}

// Calls `write(i, cell)` for each of the rows, if the column has one of the types and `values` is not null.
template <typename TWrite>
int read_rows(const prof_report* report, std::size_t table, std::size_t column, std::size_t first, std::size_t count,
              const void* values, std::initializer_list<prof_cell_type> types, const char* kind, TWrite&& write) {
    return with_column(report, table, column, [&](const prof::table& values_table, const read_column& read) -> int {
        if (std::find(types.begin(), types.end(), read.type) == types.end()) {
            return fail(PROF_INVALID_ARGUMENT,
                        "the column " + values_table.columns[read.index].key + " has no " + kind);
        }
        if (first > values_table.rows.size() || count > values_table.rows.size() - first) {
            return fail(PROF_INVALID_ARGUMENT, "the table has " + std::to_string(values_table.rows.size()) + " rows");
        }
        if (values == nullptr && count != 0) return refuse_null("values");
        for (std::size_t i = 0; i < count; ++i) write(i, values_table.rows[first + i][read.index]);
        return PROF_OK;
    });
}

bool is_present(const table_cell& cell) noexcept { return !std::holds_alternative<std::monostate>(cell.value); }

const char* text_at(std::string_view kind, std::size_t index, std::size_t count) noexcept {
    return caught([&]() -> const char* { return null_of(no_such(kind, index, count)); }, nullptr);
}

}  // namespace
}  // namespace prof

using namespace prof;

PROF_EXPORT size_t prof_report_count() { return report_kinds().size(); }

// The registries' texts are literals: they end with a zero.
PROF_EXPORT const char* prof_report_name(size_t index) {
    const auto kinds = report_kinds();
    return index < kinds.size() ? kinds[index].name.data() : text_at("report", index, kinds.size());
}

PROF_EXPORT const char* prof_report_purpose(size_t index) {
    const auto kinds = report_kinds();
    return index < kinds.size() ? kinds[index].purpose.data() : text_at("report", index, kinds.size());
}

PROF_EXPORT size_t prof_format_count() { return report_formats().size(); }

PROF_EXPORT const char* prof_format_name(size_t index) {
    const auto formats = report_formats();
    return index < formats.size() ? formats[index].name.data() : text_at("format", index, formats.size());
}

PROF_EXPORT prof_report* prof_report_open(const prof_capture* capture, const char* name, const char* const* settings) {
    if (capture == nullptr) return null_of(refuse_null("capture"));
    if (name == nullptr) return null_of(refuse_null("name"));
    return caught(
        [&]() -> prof_report* {
            const report_kind* const kind = find_report(name);
            if (kind == nullptr) {
                return null_of(fail(PROF_INVALID_ARGUMENT, unknown_name("report", name, names_of(report_kinds()))));
            }
            const result<report_settings> wanted = parse_report_settings(settings);
            if (!wanted.ok()) return null_of(fail(PROF_INVALID_ARGUMENT, wanted.failure().message()));
            return made(*capture, *kind, wanted.value()).release();
        },
        nullptr);
}

PROF_EXPORT void prof_report_close(prof_report* report) { delete report; }

PROF_EXPORT size_t prof_report_note_count(const prof_report* report) {
    return report == nullptr ? 0 : report->notes.size();
}

PROF_EXPORT const char* prof_report_note(const prof_report* report, size_t index) {
    if (report == nullptr) return null_of(refuse_null("report"));
    return index < report->notes.size() ? report->notes[index].c_str() : text_at("note", index, report->notes.size());
}

PROF_EXPORT size_t prof_report_table_count(const prof_report* report) {
    return report == nullptr ? 0 : report->tables.size();
}

PROF_EXPORT int prof_report_get_table(const prof_report* report, size_t table, prof_report_table* out,
                                      size_t out_size) {
    return with_table(report, table, [&](const read_table& read) {
        const prof_report_table described{read.source->rows_key.c_str(), read.source->heading.c_str(),
                                          read.source->rows.size(), read.columns.size(), read.source->totals.size()};
        return fill_struct<40, 40>(described, "prof_report_table", out, out_size);
    });
}

PROF_EXPORT int prof_report_get_column(const prof_report* report, size_t table, size_t column, prof_report_column* out,
                                       size_t out_size) {
    return with_column(report, table, column, [&](const prof::table& source, const read_column& read) {
        const table_column& described = source.columns[read.index];
        const prof_report_column column_text{described.key.c_str(), described.title.c_str(), read.type,
                                             unit_of_quantity(described.holds)};
        return fill_struct<24, 24>(column_text, "prof_report_column", out, out_size);
    });
}

PROF_EXPORT int prof_report_get_cell(const prof_report* report, size_t table, size_t row, size_t column,
                                     prof_report_cell* cell, size_t cell_size) {
    return with_column(report, table, column, [&](const prof::table& source, const read_column& read) {
        if (row >= source.rows.size()) return no_such("row", row, source.rows.size());
        return fill_cell(source.rows[row][read.index], cell, cell_size);
    });
}

PROF_EXPORT const char* prof_report_total_key(const prof_report* report, size_t table, size_t index) {
    const char* key = nullptr;
    (void)with_table(report, table, [&](const read_table& read) -> int {
        const auto& totals = read.source->totals;
        if (index >= totals.size()) return no_such("total", index, totals.size());
        key = totals[index].first.c_str();
        return PROF_OK;
    });
    return key;
}

PROF_EXPORT int prof_report_get_total(const prof_report* report, size_t table, size_t index, prof_report_cell* cell,
                                      size_t cell_size) {
    return with_table(report, table, [&](const read_table& read) {
        const auto& totals = read.source->totals;
        if (index >= totals.size()) return no_such("total", index, totals.size());
        return fill_cell(totals[index].second, cell, cell_size);
    });
}

PROF_EXPORT int prof_report_read_integers(const prof_report* report, size_t table, size_t column, size_t first,
                                          size_t count, int64_t* values, uint8_t* present) {
    return read_rows(report, table, column, first, count, values,
                     {PROF_CELL_INTEGER, PROF_CELL_UNSIGNED, PROF_CELL_BOOLEAN}, "integers",
                     [&](std::size_t i, const table_cell& cell) {
                         values[i] = integer_in(cell);
                         if (present != nullptr) present[i] = is_present(cell) ? 1 : 0;
                     });
}

PROF_EXPORT int prof_report_read_reals(const prof_report* report, size_t table, size_t column, size_t first,
                                       size_t count, double* values, uint8_t* present) {
    return read_rows(report, table, column, first, count, values,
                     {PROF_CELL_INTEGER, PROF_CELL_UNSIGNED, PROF_CELL_BOOLEAN, PROF_CELL_REAL}, "numbers",
                     [&](std::size_t i, const table_cell& cell) {
                         values[i] = is_present(cell) ? real_in(cell) : std::nan("");
                         if (present != nullptr) present[i] = is_present(cell) ? 1 : 0;
                     });
}

PROF_EXPORT int prof_report_read_texts(const prof_report* report, size_t table, size_t column, size_t first,
                                       size_t count, const char** values, size_t* sizes) {
    return read_rows(report, table, column, first, count, values, {PROF_CELL_TEXT}, "texts",
                     [&](std::size_t i, const table_cell& cell) {
                         const auto* const text = std::get_if<std::string>(&cell.value);
                         values[i] = text == nullptr ? nullptr : text->c_str();
                         if (sizes != nullptr) sizes[i] = text == nullptr ? 0 : text->size();
                     });
}

PROF_EXPORT char* prof_report_render(const prof_report* report, const char* format, size_t* size) {
    if (report == nullptr) return null_of(refuse_null("report"));
    if (format == nullptr) return null_of(refuse_null("format"));
    return caught(
        [&]() -> char* {
            const report_format* const known = find_report_format(format);
            if (known == nullptr) {
                return null_of(fail(PROF_INVALID_ARGUMENT, unknown_name("format", format, names_of(report_formats()))));
            }
            const std::string text = rendered(*report, *known);
            char* const out = copied(text);
            if (size != nullptr) *size = text.size();
            return out;
        },
        nullptr);
}

PROF_EXPORT void prof_free_text(char* text) { std::free(text); }
