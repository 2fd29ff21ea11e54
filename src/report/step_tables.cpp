// SPDX-License-Identifier: Apache-2.0
#include "report/step_tables.hpp"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "analysis/steps/step_figures.hpp"
#include "report/report_column.hpp"

namespace prof {
namespace {

table_column flag(const char* key) { return {key, "", quantity::flag}; }
table_column count(const char* key) { return {key, "", quantity::count}; }
table_column time(const char* key) { return {key, "", quantity::time_ns}; }

// The tables of a block of the answer have a key of their own for their rows in JSON.
template <typename TRow, typename TRows>
table part_table(const std::string& report, const char* heading, const char* rows_key,
                 const report_columns<TRow>& columns, const TRows& rows) {
    table out = make_table(report, heading, columns, rows);
    out.rows_key = rows_key;
    return out;
}

// Of a value that is there or not.
template <typename TValue>
std::span<const TValue> as_rows(const std::optional<TValue>& value) {
    return value ? std::span(&*value, 1) : std::span<const TValue>();
}

table step_row_table(const std::string& report, const answer_block& of) {
    using row = step_figures;
    const auto if_gpu = [](auto member) {
        return [member](const row& step) { return none_unless(step.has_gpu, step.*member); };
    };
    const report_columns<row> columns = {
        {count("steps"), &row::steps},
        {count("warm_up"), &row::warm_up},
        {{"source", ""}, [](const row& step) { return step_source_name(step.source); }},
        {flag("is_first"), &row::is_first},
        {{"ended_by", ""}, [](const row& step) { return text_or_none(step_witness_name(step.witness)); }},
        {{"range", ""}, text_or_none(&row::range)},
        {{"function", ""}, text_or_none(&row::function)},
        {time("mean_ns"), &row::mean_ns},
        {time("median_ns"), &row::median_ns},
        {time("min_ns"), &row::min_ns},
        {time("max_ns"), &row::max_ns},
        {time("total_ns"), &row::total_ns},
        {time("host_median_ns"), &row::host_median_ns},
        {time("host_ns"), &row::host_ns},
        {time("gpu_sum_ns"), if_gpu(&row::gpu_sum_ns)},
        {time("gpu_busy_ns"), if_gpu(&row::gpu_busy_ns)},
        {count("ops"), if_gpu(&row::ops)},
        {count("devices"), if_gpu(&row::devices)}};
    return part_table(report, "Whole steps", "step", columns, as_rows(of.step));
}

table step_parts_table(const std::string& report, const answer_block& of) {
    const report_columns<step_part> columns = {{{"phase", ""}, text_or_none(&step_part::name)},
                                               {time("gpu_sum_ns"), &step_part::gpu_sum_ns},
                                               {count("ops"), &step_part::ops}};
    return part_table(report, "Phases of whole steps", "step_parts", columns,
                      of.step ? of.step->parts : std::vector<step_part>());
}

// The answer: its figures, what busy and idle time consist of, and the longest steps.
void add_answer(std::vector<table>& out, const std::string& report, const answer_block& of) {
    const auto figure = [](auto member) { return [member](const time_answer& answer) { return answer.of.*member; }; };
    const report_columns<time_answer> columns = {
        {flag("has_steps"), figure(&step_breakdown::has_steps)},
        {flag("by_gpu"), figure(&step_breakdown::by_gpu)},
        {count("steps"), figure(&step_breakdown::steps)},
        {count("devices"), figure(&step_breakdown::devices)},
        {time("wall_ns"), figure(&step_breakdown::wall_ns)},
        {time("step_median_ns"), figure(&step_breakdown::step_median_ns)},
        {time("step_min_ns"), figure(&step_breakdown::step_min_ns)},
        {time("step_max_ns"), figure(&step_breakdown::step_max_ns)},
        {time("busy_ns"), [](const auto& answer) { return time_answer::total(answer.busy); }},
        {time("idle_ns"), [](const auto& answer) { return time_answer::total(answer.idle); }},
        {count("slow_steps"), figure(&step_breakdown::slow_count)},
        {time("recorded_ns"), figure(&step_breakdown::recorded_ns)},
        {time("recorded_busy_ns"), figure(&step_breakdown::recorded_busy_ns)}};
    out.push_back(part_table(report, "Where a step's time goes", "answer", columns, as_rows(of.answer)));

    using share_of_use = std::pair<const char*, const time_share*>;
    std::vector<share_of_use> shares;
    if (of.answer) {
        for (const time_share& share : of.answer->busy) shares.emplace_back("busy", &share);
        for (const time_share& share : of.answer->idle) shares.emplace_back("idle", &share);
    }
    const report_columns<share_of_use> parts = {{{"use", ""}, &share_of_use::first},
                                                {{"what", ""}, [](const auto& share) { return share.second->what; }},
                                                {time("ns"), [](const auto& share) { return share.second->total_ns; }}};
    out.push_back(part_table(report, "Busy and idle time", "answer_parts", parts, shares));

    const report_columns<slow_step> slow = {{{"step", "", quantity::identity}, &slow_step::number},
                                            {time("ns"), &slow_step::length_ns}};
    out.push_back(part_table(report, "Longest steps", "answer_slowest", slow,
                             of.answer ? of.answer->of.slow : std::vector<slow_step>()));
}

std::string_view row_kind_name(step_row_kind kind) noexcept {
    switch (kind) {
        case step_row_kind::phase:
            return "phase";
        case step_row_kind::rest:
            return "rest";
        case step_row_kind::range:
            return "range";
        case step_row_kind::module:
            return "module";
        case step_row_kind::scope:
            return "scope";
        case step_row_kind::own:
            break;
    }
    return "own";
}

// The table of a step: each instant in one row of depth 0 and in one column.
table step_rows_table(const std::string& report, const answer_block& of) {
    struct line {
        const step_table_row& row;
        std::uint64_t depth;
    };
    report_columns<line> columns = {{{"name", ""}, [](const auto& line) { return line.row.name; }},
                                    {{"kind", ""}, [](const auto& line) { return row_kind_name(line.row.kind); }},
                                    {count("depth"), &line::depth},
                                    {count("calls"), [](const auto& line) { return line.row.calls; }},
                                    {time("cpu_ns"), [](const auto& line) { return line.row.cpu_ns; }},
                                    {time("cpu_wait_ns"), [](const auto& line) { return line.row.wait_ns; }}};
    std::size_t place = 0;
    for (const char* const key :
         {"computing_ns", "communication_ns", "copies_ns", "launches_ns", "cpu_code_ns", "syncs_ns",
          "unpinned_copies_ns", "memory_calls_ns", "compilation_ns", "short_gaps_ns", "other_ns"}) {
        columns.push_back({time(key), [place](const line& line) { return line.row.ns[place]; }});
        ++place;
    }
    std::vector<line> rows;
    // A row, then those below it.
    const auto add = [&](const auto& self, const step_table_row& row, std::uint64_t depth) -> void {
        rows.push_back({row, depth});
        for (const step_table_row& child : row.children) self(self, child, depth + 1);
    };
    if (of.where) {
        for (const step_table_row& row : of.where->rows) add(add, row, 0);
    }
    return part_table(report, "Where a step's time goes, by phase", "step_rows", columns, rows);
}

table run_table(const std::string& report, const answer_block& of) {
    const report_columns<run_parts> columns = {
        {time("recorded_ns"), &run_parts::recorded_ns}, {time("startup_ns"), &run_parts::startup_ns},
        {time("warm_up_ns"), &run_parts::warm_up_ns},   {time("steps_ns"), &run_parts::steps_ns},
        {time("between_ns"), &run_parts::between_ns},   {time("end_ns"), &run_parts::end_ns},
        {count("warm_up"), &run_parts::warm_up},        {count("steps"), &run_parts::steps},
        {count("windows"), &run_parts::windows}};
    return part_table(report, "How the recording divides", "run", columns, as_rows(of.run));
}

table gains_table(const std::string& report, const answer_block& of) {
    const report_columns<priced_change> columns = {
        {{"rule", ""}, &priced_change::rule},         {{"finding", ""}, &priced_change::title},
        {time("gain_ns"), &priced_change::gain_ns},   {{"gain_share", "", quantity::share}, &priced_change::share},
        {flag("is_rough"), &priced_change::is_rough}, {flag("changes_results"), &priced_change::changes_results}};
    return part_table(report, "What a change would gain", "gains", columns, of.gains->dearest);
}

}  // namespace

std::vector<table> step_tables(const std::string& report, const answer_block& of) {
    std::vector<table> out = {step_row_table(report, of), step_parts_table(report, of)};
    add_answer(out, report, of);
    out.push_back(step_rows_table(report, of));
    out.push_back(run_table(report, of));
    if (of.gains) out.push_back(gains_table(report, of));
    return out;
}

}  // namespace prof
