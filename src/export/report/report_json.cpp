// SPDX-License-Identifier: Apache-2.0
#include "export/report/report_json.hpp"

#include <cstdint>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>

#include "base/json_text.hpp"
#include "export/report/report_writer.hpp"

namespace prof {
namespace {

using json = nlohmann::ordered_json;

// Grows when a key is removed or gets another meaning; new keys do not change it.
constexpr int report_schema = 1;

// Over all steps that are counted; what is not known is null.
json step_json(const step_figures& steps) {
    const auto if_gpu = [&](auto value) { return steps.has_gpu ? json(value) : json(); };
    json out = {{"steps", steps.steps},
                {"warm_up", steps.warm_up},
                {"source", step_source_name(steps.source)},
                {"is_first", steps.is_first},
                {"ended_by", nullptr},
                {"range", nullptr},
                {"mean_ns", steps.mean_ns()},
                {"median_ns", steps.median_ns},
                {"min_ns", steps.min_ns},
                {"max_ns", steps.max_ns},
                {"total_ns", steps.total_ns},
                {"host_median_ns", steps.host_median_ns},
                {"host_ns", steps.host_ns},
                {"gpu_sum_ns", if_gpu(steps.gpu_sum_ns)},
                {"gpu_busy_ns", if_gpu(steps.gpu_busy_ns)},
                {"ops", if_gpu(steps.ops)},
                {"devices", if_gpu(steps.devices)},
                {"parts", json::array()}};
    if (const std::string_view witness = step_witness_name(steps.witness); !witness.empty())
        out["ended_by"] = std::string(witness);
    if (steps.source == step_source::recurring) out["range"] = printable(steps.range);
    if (!steps.function.empty()) out["function"] = printable(steps.function);
    for (const step_part& part : steps.parts) {
        out["parts"].push_back({{"phase", part.name.empty() ? json() : json(printable(part.name))},
                                {"gpu_sum_ns", part.gpu_sum_ns},
                                {"ops", part.ops}});
    }
    return out;
}

// Times are of all steps, on all GPUs.
json answer_json(const time_answer& answer) {
    const auto shares = [](const std::vector<time_share>& of) {
        json list = json::array();
        for (const time_share& share : of) list.push_back({{"what", printable(share.what)}, {"ns", share.total_ns}});
        return list;
    };
    json slow = json::array();
    for (const slow_step& step : answer.of.slow) slow.push_back({{"step", step.number}, {"ns", step.length_ns}});
    return {{"has_steps", answer.of.has_steps},
            {"by_gpu", answer.of.by_gpu},
            {"steps", answer.of.steps},
            {"devices", answer.of.devices},
            {"wall_ns", answer.of.wall_ns},
            {"step_median_ns", answer.of.step_median_ns},
            {"step_min_ns", answer.of.step_min_ns},
            {"step_max_ns", answer.of.step_max_ns},
            {"busy_ns", time_answer::total(answer.busy)},
            {"idle_ns", time_answer::total(answer.idle)},
            {"busy", shares(answer.busy)},
            {"idle", shares(answer.idle)},
            {"slow_steps", answer.of.slow_count},
            {"slowest", std::move(slow)},
            {"recorded_ns", answer.of.recorded_ns},
            {"recorded_busy_ns", answer.of.recorded_busy_ns}};
}

json cell_json(const table_cell& cell) {
    if (const auto* const text = std::get_if<std::string>(&cell.value)) return printable(*text);
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

// As nlohmann's dump() has an array, row by row: as values of one document they would take ten times the memory.
template <typename TFlush>
void append_rows(std::string& to, const table& of, std::size_t by, TFlush&& flush) {
    if (of.rows.empty()) {
        to += "[]";
        return;
    }
    to += '[';
    for (std::size_t i = 0; i < of.rows.size(); ++i) {
        to += i == 0 ? "\n" : ",\n";
        to.append(by + json_indent, ' ');
        append_indented(to, row_json(of, of.rows[i]).dump(json_indent), by + json_indent);
        flush(to);
    }
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
json gains_json(const std::vector<priced_change>& gains) {
    json out = json::array();
    for (const priced_change& gain : gains) {
        out.push_back({{"rule", gain.rule},
                       {"finding", printable(gain.title)},
                       {"gain_ns", gain.gain_ns},
                       {"gain_share", gain.share}});
    }
    return out;
}

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
    for (const table_row& row : of.rows) list.push_back(row_json(of, row));
    return list;
}

// Without `has_rows`, marks stand where the rows of tables would.
json report_json(const capture_heading& capture, const report_part& part, bool has_rows) {
    json out = {{"schema", report_schema},
                {"report", part.name},
                {"capture", printable(capture.path)},
                {"process", process_json(capture)}};
    if (capture.selection) out["selection"] = selection_json(*capture.selection);
    if (part.has_step) out["step"] = part.step ? step_json(*part.step) : json();
    if (part.has_step) out["answer"] = part.answer ? answer_json(*part.answer) : json();
    if (part.gains) out["gains"] = gains_json(part.gains->dearest);
    if (part.gains && part.gains->sampled != 0) out["gains_sampled_steps"] = part.gains->sampled;
    for (const table& of : part.tables) {
        for (const auto& [key, total] : of.totals) out[key] = cell_json(total);
        out[of.rows_key] =
            has_rows ? rows_json(of) : json(rows_mark(static_cast<std::size_t>(&of - part.tables.data())));
    }
    if (part.has_step) out["no_range_largest"] = no_range_json(part.no_range);
    json& dropped = out["dropped"] = json::object();
    for (const auto& [cause, count] : capture.dropped) dropped[cause] = count;
    json& warnings = out["warnings"] = json::array();
    for (const std::string& warning : capture.warnings) warnings.push_back(printable(warning));
    json& notes = out["notes"] = json::array();
    for (const std::string& note : all_notes(capture)) notes.push_back(printable(note));
    for (const table& of : part.tables) {
        for (const std::string& note : of.notes) notes.push_back(printable(note));
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
    for (std::size_t i = 0; i < part.tables.size(); ++i) {
        const std::string mark = json(rows_mark(i)).dump();
        const std::size_t at = rest.find(mark, from);
        if (at == std::string::npos) continue;  // another table of the part has the same key
        to.append(rest, from, at - from);
        append_rows(to, part.tables[i], by + json_indent, flush);
        from = at + mark.size();
    }
    to.append(rest, from);
}

// One report of one capture is an object; more than that an array of them.
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
