// SPDX-License-Identifier: Apache-2.0
#include "export/report/report_json.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <iterator>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "base/json_text.hpp"
#include "export/report/report_writer.hpp"
#include "report/step_tables.hpp"
#include "report/tables/diagnosis_tables.hpp"

namespace prof {
namespace {

using json = nlohmann::ordered_json;

// Grows when a key is removed or gets another meaning; new keys do not change it. docs/reference/report.schema.json
// describes it.
constexpr int report_schema = 2;

json cell_json(const table_cell& cell) {
    if (const auto* const text = std::get_if<std::string>(&cell.value)) return printable(*text);
    if (const auto* const list = std::get_if<text_list>(&cell.value)) {
        json texts = json::array();
        for (const std::string& text : *list) texts.push_back(printable(text));
        return texts;
    }
    if (const auto* const flag = std::get_if<bool>(&cell.value)) return *flag;
    if (const auto* const real = std::get_if<double>(&cell.value)) return *real;
    if (const auto* const whole = std::get_if<std::int64_t>(&cell.value)) return *whole;
    if (const auto* const whole = std::get_if<std::uint64_t>(&cell.value)) return *whole;
    return nullptr;
}

json row_json(const table& of, const table_row& row) {
    json item = json::object();
    for (std::size_t i = 0; i < row.size(); ++i) {
        const table_column& column = of.columns[i];
        if (column.key.empty() || column.formats == column_formats::csv) continue;
        item[column.key] = cell_json(row[i]);
    }
    return item;
}

// Stands for the rows of the table with this number while the rest of the report becomes text.
std::string rows_mark(std::size_t table) { return "\x01rows " + std::to_string(table); }

constexpr int json_indent = 2;

// `text`, all lines but the first further in by so much.
void append_indented(std::string& to, const std::string& text, std::size_t by) {
    std::size_t from = 0;
    for (std::size_t end = text.find('\n'); end != std::string::npos; end = text.find('\n', from)) {
        to.append(text, from, end + 1 - from);
        to.append(by, ' ');
        from = end + 1;
    }
    to.append(text, from);
}

bool needs_no_escapes(std::string_view text) noexcept {
    return std::all_of(text.begin(), text.end(), [](char c) { return c >= ' ' && c <= '~' && c != '"' && c != '\\'; });
}

// What most cells are, without a value of nlohmann's.
void append_cell(std::string& to, const table_cell& cell, std::size_t by) {
    if (const auto* const text = std::get_if<std::string>(&cell.value); text != nullptr && needs_no_escapes(*text)) {
        to.append("\"").append(*text).append("\"");
    } else if (const auto* const whole = std::get_if<std::int64_t>(&cell.value)) {
        fmt::format_to(std::back_inserter(to), "{}", *whole);
    } else if (const auto* const natural = std::get_if<std::uint64_t>(&cell.value)) {
        fmt::format_to(std::back_inserter(to), "{}", *natural);
    } else {
        append_indented(to, cell_json(cell).dump(json_indent), by);
    }
}

// As nlohmann's dump() has an array, row by row: as values of one document they would take ten times the memory.
template <typename TFlush>
void append_rows(std::string& to, const table& of, std::size_t by, TFlush&& flush) {
    if (row_count(of) == 0) {
        to += "[]";
        return;
    }
    const std::string in_row(by + std::size_t{2} * json_indent, ' ');
    std::vector<std::string> keys;  // with what comes before the value; "": the column is not in JSON
    for (const table_column& column : of.columns) {
        const bool is_in_json = !column.key.empty() && column.formats != column_formats::csv;
        keys.push_back(is_in_json ? '\n' + in_row + json(column.key).dump() + ": " : std::string());
    }
    to += '[';
    bool is_first_row = true;
    for_each_row(of, [&](const table_row& row) {
        to += is_first_row ? "\n" : ",\n";
        is_first_row = false;
        to.append(by + json_indent, ' ').append("{");
        bool is_first = true;
        for (std::size_t i = 0; i < row.size(); ++i) {
            if (keys[i].empty()) continue;
            to.append(is_first ? "" : ",").append(keys[i]);
            append_cell(to, row[i], in_row.size());
            is_first = false;
        }
        if (!is_first) to.append("\n").append(by + json_indent, ' ');
        to += '}';
        flush(to);
    });
    to += '\n';
    to.append(by, ' ');
    to += ']';
}

json or_null(const std::optional<std::int64_t>& number) { return number ? json(*number) : json(); }

json process_json(const capture_heading& capture) {
    const captured_process& process = capture.process;
    json gpus = json::array();
    for (const std::string& gpu : process.gpus) gpus.push_back(printable(gpu));
    return {{"program", printable(process.program)},
            {"command", printable(capture.command)},
            {"host", printable(process.host)},
            {"rank", or_null(process.rank)},
            {"pid", or_null(process.pid)},
            {"recorded_ns", process.recorded_ns},
            {"windows", capture.windows},
            {"gpus", std::move(gpus)},
            {"ranges", process.ranges},
            {"gpu_sum_ns", process.gpu_sum_ns}};
}

json no_range_json(const std::vector<no_range_work>& largest) {
    json out = json::array();
    for (const no_range_work& work : largest) {
        out.push_back({{"name", printable(work.name)},
                       {"thread", printable(work.thread)},
                       {"call", work.call.empty() ? json() : json(work.call)},
                       {"gpu_ns", work.gpu_ns},
                       {"ops", work.ops}});
    }
    return out;
}

// What was asked for, and what it came to.
json selection_json(const selection_facts& of) {
    const auto text = [](const std::string& given) { return given.empty() ? json() : json(printable(given)); };
    json ranges = json::array();
    for (const std::string& pattern : of.request.ranges) ranges.push_back(printable(pattern));
    json times = json::array();
    for (const time_span& span : of.times.list()) {
        times.push_back({{"start_ns", span.start_ns}, {"end_ns", span.end_ns}});
    }
    return {{"ranges", std::move(ranges)},   {"steps", text(of.request.steps)},  {"skip_first", of.request.skip_first},
            {"from", text(of.request.from)}, {"to", text(of.request.to)},        {"times", std::move(times)},
            {"whole_steps", of.steps},       {"steps_in_capture", of.all_steps}, {"ops", of.ops},
            {"ops_in_capture", of.all_ops}};
}

json rows_json(const table& of) {
    json list = json::array();
    for_each_row(of, [&](const table_row& row) { list.push_back(row_json(of, row)); });
    return list;
}

// The columns that together identify a row.
json keys_json(const table& of) {
    json out = json::array();
    for (const table_column& column : of.columns) {
        if (column.is_key && column.formats != column_formats::csv) out.push_back(column.key);
    }
    return out;
}

// Of a table with one row or none.
json only_row_json(const table& of) { return of.rows.empty() ? json() : row_json(of, of.rows.front()); }

// The rows whose first cell is this, without it.
json rows_of_use(const table& of, std::string_view use) {
    json list = json::array();
    for (const table_row& row : of.rows) {
        if (std::get<std::string>(row.front().value) != use) continue;
        json item = row_json(of, row);
        item.erase(of.columns.front().key);
        list.push_back(std::move(item));
    }
    return list;
}

void add_answer(json& out, const report_part& part, const answer_block& block) {
    const std::vector<table> made = step_tables(part.name, block);
    const auto table_of = [&](std::string_view key) -> const table& {
        return *std::find_if(made.begin(), made.end(), [&](const table& of) { return of.rows_key == key; });
    };
    json& step = out["step"] = only_row_json(table_of("step"));
    if (block.step) step["parts"] = rows_json(table_of("step_parts"));
    json& answer = out["answer"] = only_row_json(table_of("answer"));
    if (block.answer) {
        answer["busy"] = rows_of_use(table_of("answer_parts"), "busy");
        answer["idle"] = rows_of_use(table_of("answer_parts"), "idle");
        answer["slowest"] = rows_json(table_of("answer_slowest"));
    }
    out["step_rows"] = rows_json(table_of("step_rows"));
    out["run"] = only_row_json(table_of("run"));
    if (!block.gains) return;
    out["gains"] = rows_json(table_of("gains"));
    if (block.gains->sampled != 0) out["gains_sampled_steps"] = block.gains->sampled;
}

// Each finding with its places.
void add_findings(json& out, const findings_block& block) {
    const table findings = findings_table(block.found);
    const table places = places_table(block);
    for (const auto& [key, total] : findings.totals) out[key] = cell_json(total);
    json rows = rows_json(findings);
    for (json& row : rows) row["places"] = json::array();
    for (const table_row& place : places.rows) {
        json item = row_json(places, place);
        const auto finding = item["finding"].get<std::size_t>();
        item.erase("finding");
        item.erase("rule");
        rows[finding - 1]["places"].push_back(std::move(item));
    }
    out["rows"] = std::move(rows);
}

// Without `has_rows`, marks stand where the rows of tables would.
json report_json(const capture_heading& capture, const report_part& part, bool has_rows) {
    json out = {{"schema", report_schema}, {"report", part.name}};
    if (part.is_of_job) {
        for (const std::string& path : captures_of(capture)) out["captures"].push_back(printable(path));
    } else {
        out["capture"] = printable(capture.path);
        out["process"] = process_json(capture);
    }
    if (capture.selection) out["selection"] = selection_json(*capture.selection);
    const auto* const answer = block_in<answer_block>(part);
    if (answer != nullptr) add_answer(out, part, *answer);
    if (const auto* const findings = block_in<findings_block>(part)) add_findings(out, *findings);
    const std::vector<const table*> tables = tables_in(part);
    if (!tables.empty()) out["keys"] = keys_json(*tables.front());
    for (std::size_t i = 0; i < tables.size(); ++i) {
        for (const auto& [key, total] : tables[i]->totals) out[key] = cell_json(total);
        out[tables[i]->rows_key] = has_rows ? rows_json(*tables[i]) : json(rows_mark(i));
    }
    if (answer != nullptr) out["no_range_largest"] = no_range_json(answer->no_range);
    json& dropped = out["dropped"] = json::object();
    for (const auto& [cause, count] : capture.dropped) dropped[cause] = count;
    json& warnings = out["warnings"] = json::array();
    for (const std::string& warning : capture.warnings) warnings.push_back(printable(warning));
    json& notes = out["notes"] = json::array();
    for (const std::string& note : all_notes(capture)) notes.push_back(printable(note));
    for (const table* const made : tables) {
        for (const std::string& note : made->notes) notes.push_back(printable(note));
    }
    return out;
}

// The report as text, as dump() would write it further in by so much. Calls flush(to) from time to time.
template <typename TFlush>
void append_report(std::string& to, const capture_heading& capture, const report_part& part, std::size_t by,
                   TFlush&& flush) {
    std::string rest;
    append_indented(rest, report_json(capture, part, false).dump(json_indent), by);
    std::size_t from = 0;
    const std::vector<const table*> tables = tables_in(part);
    for (std::size_t i = 0; i < tables.size(); ++i) {
        const std::string mark = json(rows_mark(i)).dump();
        const std::size_t at = rest.find(mark, from);
        if (at == std::string::npos) continue;  // another table of the part has the same key
        to.append(rest, from, at - from);
        append_rows(to, *tables[i], by + json_indent, flush);
        from = at + mark.size();
    }
    to.append(rest, from);
}

// One report of one capture or of a job is an object; more than that an array of them.
class json_writer final : public report_writer {
public:
    explicit json_writer(bool is_one) : is_one_(is_one) {}

    void add(const report_document& document) override {
        for (const report_part& part : document.parts) {
            if (!is_one_) {
                text_ += has_any_ ? ",\n" : "[\n";
                text_.append(json_indent, ' ');
            } else if (has_any_) {
                break;
            }
            append_report(text_, document.capture, part, is_one_ ? 0 : json_indent, [this](std::string& text) {
                if (sink_ == nullptr || text.size() < written_at_once) return;
                sink_->write(text);
                text.clear();
            });
            has_any_ = true;
        }
    }

    std::string text() const override {
        if (is_one_) return has_any_ ? text_ + '\n' : std::string();
        return text_ + (has_any_ ? "\n]\n" : "[]\n");
    }
    void write_to(byte_sink& destination) override { sink_ = &destination; }

private:
    static constexpr std::size_t written_at_once = 1U << 20;

    bool is_one_;
    bool has_any_ = false;
    byte_sink* sink_ = nullptr;
    std::string text_;
};

}  // namespace

json report_json(const capture_heading& capture, const report_part& part) { return report_json(capture, part, true); }

std::unique_ptr<report_writer> make_json_writer(const writer_options& options) {
    return std::make_unique<json_writer>(!options.several_captures && !options.several_reports);
}

}  // namespace prof
