// SPDX-License-Identifier: Apache-2.0
#include "report/step_tables.hpp"

#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "analysis/steps/step_figures.hpp"

namespace prof {
namespace {

table_cell text_or_none(std::string_view text) { return text.empty() ? table_cell() : table_cell(std::string(text)); }

table_row step_row(const step_figures& of) {
    const auto if_gpu = [&](auto value) { return of.has_gpu ? table_cell(value) : table_cell(); };
    return {of.steps,
            of.warm_up,
            std::string(step_source_name(of.source)),
            of.is_first,
            text_or_none(step_witness_name(of.witness)),
            text_or_none(of.range),
            text_or_none(of.function),
            of.mean_ns(),
            of.median_ns,
            of.min_ns,
            of.max_ns,
            of.total_ns,
            of.host_median_ns,
            of.host_ns,
            if_gpu(of.gpu_sum_ns),
            if_gpu(of.gpu_busy_ns),
            if_gpu(of.ops),
            if_gpu(of.devices)};
}

table_row answer_row(const time_answer& answer) {
    const step_breakdown& of = answer.of;
    return {of.has_steps,
            of.by_gpu,
            of.steps,
            of.devices,
            of.wall_ns,
            of.step_median_ns,
            of.step_min_ns,
            of.step_max_ns,
            time_answer::total(answer.busy),
            time_answer::total(answer.idle),
            of.slow_count,
            of.recorded_ns,
            of.recorded_busy_ns};
}

// The answer: its figures, what busy and idle time consist of, and the longest steps.
void add_answer(std::vector<table>& out, const std::string& report, const answer_block& of) {
    table answer{report,
                 "Where a step's time goes",
                 {{"has_steps", "", quantity::flag},
                  {"by_gpu", "", quantity::flag},
                  {"steps", "", quantity::count},
                  {"devices", "", quantity::count},
                  {"wall_ns", "", quantity::time_ns},
                  {"step_median_ns", "", quantity::time_ns},
                  {"step_min_ns", "", quantity::time_ns},
                  {"step_max_ns", "", quantity::time_ns},
                  {"busy_ns", "", quantity::time_ns},
                  {"idle_ns", "", quantity::time_ns},
                  {"slow_steps", "", quantity::count},
                  {"recorded_ns", "", quantity::time_ns},
                  {"recorded_busy_ns", "", quantity::time_ns}},
                 {},
                 {}};
    table parts{report, "Busy and idle time", {{"use", ""}, {"what", ""}, {"ns", "", quantity::time_ns}}, {}, {}};
    table slowest{report, "Longest steps", {{"step", "", quantity::identity}, {"ns", "", quantity::time_ns}}, {}, {}};
    answer.rows_key = "answer";
    parts.rows_key = "answer_parts";
    slowest.rows_key = "answer_slowest";
    if (of.answer) {
        answer.rows.push_back(answer_row(*of.answer));
        for (const time_share& share : of.answer->busy)
            parts.rows.push_back({std::string("busy"), share.what, share.total_ns});
        for (const time_share& share : of.answer->idle)
            parts.rows.push_back({std::string("idle"), share.what, share.total_ns});
        for (const slow_step& step : of.answer->of.slow) slowest.rows.push_back({step.number, step.length_ns});
    }
    out.push_back(std::move(answer));
    out.push_back(std::move(parts));
    out.push_back(std::move(slowest));
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

// A row, then those below it.
void add_step_row(const step_table_row& row, std::uint64_t depth, std::vector<table_row>& out) {
    table_row cells{row.name, std::string(row_kind_name(row.kind)), depth, row.calls, row.cpu_ns, row.wait_ns};
    for (const std::int64_t ns : row.ns) cells.emplace_back(ns);
    out.push_back(std::move(cells));
    for (const step_table_row& child : row.children) add_step_row(child, depth + 1, out);
}

// The table of a step: each instant in one row of depth 0 and in one column.
table step_rows_table(const std::string& report, const answer_block& of) {
    table out{report,
              "Where a step's time goes, by phase",
              {{"name", ""},
               {"kind", ""},
               {"depth", "", quantity::count},
               {"calls", "", quantity::count},
               {"cpu_ns", "", quantity::time_ns},
               {"cpu_wait_ns", "", quantity::time_ns}},
              {},
              {}};
    for (const char* const key :
         {"computing_ns", "communication_ns", "copies_ns", "launches_ns", "cpu_code_ns", "syncs_ns",
          "unpinned_copies_ns", "memory_calls_ns", "compilation_ns", "short_gaps_ns", "other_ns"}) {
        out.columns.push_back({key, "", quantity::time_ns});
    }
    out.rows_key = "step_rows";
    if (!of.where) return out;
    for (const step_table_row& row : of.where->rows) add_step_row(row, 0, out.rows);
    return out;
}

table run_table(const std::string& report, const answer_block& of) {
    table out{report,
              "How the recording divides",
              {{"recorded_ns", "", quantity::time_ns},
               {"startup_ns", "", quantity::time_ns},
               {"warm_up_ns", "", quantity::time_ns},
               {"steps_ns", "", quantity::time_ns},
               {"between_ns", "", quantity::time_ns},
               {"end_ns", "", quantity::time_ns},
               {"warm_up", "", quantity::count},
               {"steps", "", quantity::count},
               {"windows", "", quantity::count}},
              {},
              {}};
    out.rows_key = "run";
    if (!of.run) return out;
    const run_parts& run = *of.run;
    out.rows.push_back({run.recorded_ns, run.startup_ns, run.warm_up_ns, run.steps_ns, run.between_ns, run.end_ns,
                        run.warm_up, run.steps, run.windows});
    return out;
}

table gains_table(const std::string& report, const answer_block& of) {
    table out{report,
              "What a change would gain",
              {{"rule", ""},
               {"finding", ""},
               {"gain_ns", "", quantity::time_ns},
               {"gain_share", "", quantity::share},
               {"is_rough", "", quantity::flag},
               {"changes_results", "", quantity::flag}},
              {},
              {}};
    out.rows_key = "gains";
    for (const priced_change& gain : of.gains->dearest) {
        out.rows.push_back({gain.rule, gain.title, gain.gain_ns, gain.share, gain.is_rough, gain.changes_results});
    }
    return out;
}

}  // namespace

std::vector<table> step_tables(const std::string& report, const answer_block& of) {
    table step{report,
               "Whole steps",
               {{"steps", "", quantity::count},
                {"warm_up", "", quantity::count},
                {"source", ""},
                {"is_first", "", quantity::flag},
                {"ended_by", ""},
                {"range", ""},
                {"function", ""},
                {"mean_ns", "", quantity::time_ns},
                {"median_ns", "", quantity::time_ns},
                {"min_ns", "", quantity::time_ns},
                {"max_ns", "", quantity::time_ns},
                {"total_ns", "", quantity::time_ns},
                {"host_median_ns", "", quantity::time_ns},
                {"host_ns", "", quantity::time_ns},
                {"gpu_sum_ns", "", quantity::time_ns},
                {"gpu_busy_ns", "", quantity::time_ns},
                {"ops", "", quantity::count},
                {"devices", "", quantity::count}},
               {},
               {}};
    table parts{report,
                "Phases of whole steps",
                {{"phase", ""}, {"gpu_sum_ns", "", quantity::time_ns}, {"ops", "", quantity::count}},
                {},
                {}};
    step.rows_key = "step";
    parts.rows_key = "step_parts";
    if (of.step) {
        step.rows.push_back(step_row(*of.step));
        for (const step_part& part : of.step->parts) {
            parts.rows.push_back({text_or_none(part.name), part.gpu_sum_ns, part.ops});
        }
    }
    std::vector<table> out;
    out.push_back(std::move(step));
    out.push_back(std::move(parts));
    add_answer(out, report, of);
    out.push_back(step_rows_table(report, of));
    out.push_back(run_table(report, of));
    if (of.gains) out.push_back(gains_table(report, of));
    return out;
}

}  // namespace prof
