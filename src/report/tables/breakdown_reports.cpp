// SPDX-License-Identifier: Apache-2.0
// The reports breakdown (where a step's time goes) and idle (why the GPU had nothing to do).
#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "analysis/breakdown/step_breakdown.hpp"
#include "base/display_text.hpp"
#include "report/makers.hpp"
#include "report/mean_step.hpp"
#include "report/projected_timeline.hpp"
#include "report/tables/durations.hpp"
#include "report/tables/table_of_step.hpp"
#include "report/time_answer.hpp"

namespace prof {
namespace {

constexpr std::size_t most_in_a_group = 8;  // of rows for people; the rest is one

std::optional<step_breakdown> made(const report_input& input) { return breakdown_of(projected_timeline(input), input); }

// Rows that stand under one heading: a use of time, or a group of causes.
std::string group_of(const breakdown_row& row) {
    return std::string(row.use == time_use::idle ? to_string(group_of(row.cause)) : to_string(row.use));
}

std::string what(const breakdown_row& row, const report_input& input) {
    if (row.use == time_use::idle) return idle_text(row, input.call_name);
    return row.part.empty() ? "other" : row.part;
}

// What a row of the report is made of: a row of the breakdown, or the sum of several.
struct breakdown_line {
    breakdown_row row{};
    std::string call{};
    std::string text{};      // for people
    bool has_spread = true;  // over the steps
};

// A breakdown, and what its rows are called.
struct named_breakdown {
    step_breakdown of;
    std::vector<std::string> calls;  // by row; "": none
    std::vector<std::string> texts;  // by row

    breakdown_line line(std::size_t row, std::string text) const { return {of.rows[row], calls[row], std::move(text)}; }
};

named_breakdown named(step_breakdown of, const report_input& input) {
    named_breakdown out;
    for (const breakdown_row& row : of.rows) {
        out.calls.push_back(call_text(row, input.call_name));
        out.texts.push_back(what(row, input));
    }
    out.of = std::move(of);
    return out;
}

// Of what the thread did.
auto share_of_thread(double thread_shares::*share) {
    return [share](const breakdown_line& line) { return none_unless(line.row.did.is_known(), line.row.did.*share); };
}

report_columns<breakdown_line> breakdown_columns(const step_breakdown& of) {
    const bool overlaps =
        std::any_of(of.rows.begin(), of.rows.end(), [](const breakdown_row& row) { return row.overlapped_ns != 0; });
    const auto mean = [steps = of.steps](std::int64_t ns) { return mean_over(ns, steps); };
    const auto of_step = [](auto figure) {
        return [figure](const breakdown_line& line) { return blank_unless(line.has_spread, line.row.*figure); };
    };
    return {
        {{"use", ""}, [](const auto& line) { return to_string(line.row.use); }},
        {{"cause", ""},
         [](const auto& line) { return none_unless(line.row.use == time_use::idle, to_string(line.row.cause)); }},
        {{"call", ""}, text_or_none(&breakdown_line::call)},
        {{"part", ""}, [](const auto& line) { return line.row.part; }},
        {{"", "time"}, &breakdown_line::text, true},
        {{"total_ns", "", quantity::time_ns}, [](const auto& line) { return line.row.total_ns; }, true},
        {{"mean_ns", "mean", quantity::time_ns}, [mean](const auto& line) { return mean(line.row.total_ns); }, true},
        {{"share", "share", quantity::share},
         [all_ns = of.wall_ns](const auto& line) { return share_of(line.row.total_ns, all_ns); },
         true},
        {{"median_ns", "median", quantity::time_ns, 1}, of_step(&breakdown_row::median_ns), true},
        {{"min_ns", "min", quantity::time_ns, 2}, of_step(&breakdown_row::min_ns), true},
        {{"max_ns", "max", quantity::time_ns, 2}, of_step(&breakdown_row::max_ns), true},
        {{"overlapped_ns", "", quantity::time_ns}, [](const auto& line) { return line.row.overlapped_ns; }, true},
        {{"", overlaps ? "beside" : "", quantity::time_ns, 1},
         [mean](const auto& line) { return blank_unless(line.row.overlapped_ns != 0, mean(line.row.overlapped_ns)); },
         true},
        {{"ran_share", "", quantity::share}, share_of_thread(&thread_shares::ran)},
        {{"waited_share", "", quantity::share}, share_of_thread(&thread_shares::waited)},
        {{"blocked_share", "", quantity::share}, share_of_thread(&thread_shares::blocked)},
        {{"blocked_in", ""}, [](const auto& line) { return text_or_none(line.row.did.blocked_in); }}};
}

// The rows that people see: each use of time with its largest parts.
class breakdown_rows {
public:
    breakdown_rows(const named_breakdown& from, const shown_limits& limits)
        : of_(from.of), from_(from), limits_(limits), columns_(breakdown_columns(from.of)) {}

    shown_rows run() {
        for (const time_use use : {time_use::compute, time_use::communication, time_use::copy}) add_group(use);
        add_idle();
        add_threads();
        out_.sums.push_back(sums_of(columns_, {.row = {.total_ns = of_.wall_ns,
                                                       .median_ns = of_.step_median_ns,
                                                       .min_ns = of_.step_min_ns,
                                                       .max_ns = of_.step_max_ns},
                                               .text = "all",
                                               .has_spread = of_.has_steps}));
        add_slow_steps();
        return std::move(out_);
    }

private:
    // The largest rows, and one that stands for the others. REQUIRES: they are sorted.
    void add_rows(const std::vector<std::size_t>& rows, std::string_view indent) {
        const std::size_t most = limits_.rows == SIZE_MAX ? rows.size() : most_in_a_group;
        const std::size_t shown = rows.size() <= most + 1 ? rows.size() : most;
        for (std::size_t i = 0; i < shown; ++i) {
            out_.rows.push_back(cells_of(columns_, from_.line(rows[i], std::string(indent) + from_.texts[rows[i]])));
        }
        if (shown == rows.size()) return;
        add_sum(fmt::format("{}… {} more", indent, rows.size() - shown), std::span(rows).subspan(shown));
    }

    template <typename TIs>
    std::vector<std::size_t> rows_that(TIs&& is) const {
        std::vector<std::size_t> out;
        for (std::size_t i = 0; i < of_.rows.size(); ++i) {
            if (is(of_.rows[i])) out.push_back(i);
        }
        return out;
    }

    void add_sum(std::string text, std::span<const std::size_t> rows) {
        breakdown_line sum{.text = std::move(text), .has_spread = false};
        for (const std::size_t row : rows) {
            sum.row.total_ns += of_.rows[row].total_ns;
            sum.row.overlapped_ns += of_.rows[row].overlapped_ns;
        }
        out_.rows.push_back(sums_of(columns_, sum));
    }

    void add_group(time_use use) {
        const auto rows = rows_that([&](const breakdown_row& row) { return row.use == use; });
        if (rows.empty()) return;
        add_sum(use == time_use::communication ? "communication, exposed" : std::string(to_string(use)), rows);
        add_rows(rows, "  ");
    }

    void add_idle() {
        add_sum("idle", rows_that([](const breakdown_row& row) { return row.use == time_use::idle; }));
        for (const idle_group group :
             {idle_group::starved, idle_group::blocked, idle_group::dependency, idle_group::residual}) {
            const auto rows = rows_that(
                [&](const breakdown_row& row) { return row.use == time_use::idle && group_of(row.cause) == group; });
            if (rows.empty()) continue;
            add_sum(fmt::format("  {}", to_string(group)), rows);
            add_rows(rows, "    ");
        }
    }

    // What the threads did in host code, of the largest rows.
    void add_threads() {
        constexpr std::size_t most_notes = 3;
        constexpr double least_share = 0.01;  // of the step
        std::size_t count = 0;
        for (std::size_t i = 0; i < of_.rows.size() && count < most_notes; ++i) {
            const breakdown_row& row = of_.rows[i];
            if (!row.did.is_known() || share_of(row.total_ns, of_.wall_ns) < least_share) continue;
            out_.notes.push_back(fmt::format("{}: the thread {}, by samples", from_.texts[i], shares_text(row.did)));
            ++count;
        }
    }

    void add_slow_steps() {
        for (const slow_step& step : of_.slow) {
            const breakdown_row& row = of_.rows[step.row];
            const auto ms = [](double ns) { return fmt::format("{:.3f} ms", ns / 1e6); };
            out_.notes.push_back(fmt::format(
                "step {} took {}, {} more than the median: {} of that is {}, {}", with_thousands(step.number),
                ms(static_cast<double>(step.length_ns)), ms(static_cast<double>(step.length_ns) - of_.step_median_ns),
                ms(static_cast<double>(step.excess_ns)), group_of(row), from_.texts[step.row]));
        }
        if (of_.slow_count > of_.slow.size()) {
            out_.notes.push_back(
                fmt::format("{} more steps are slow", with_thousands(of_.slow_count - of_.slow.size())));
        }
    }

    const step_breakdown& of_;
    const named_breakdown& from_;
    const shown_limits& limits_;
    report_columns<breakdown_line> columns_;
    shown_rows out_;
};

// Without rows.
table empty_breakdown(const step_breakdown& of) {
    table out = make_table("breakdown", of.has_steps ? "Where a step's time goes" : "Where the recorded time goes",
                           breakdown_columns(of));
    if (of.devices > 1) out.heading += fmt::format(", on {} GPUs together", of.devices);
    out.unit_ns = static_cast<std::int64_t>(mean_over(of.wall_ns, of.steps));
    out.totals = {{"has_steps", of.has_steps},
                  {"by_gpu", of.by_gpu},
                  {"steps", of.steps},
                  {"devices", of.devices},
                  {"wall_ns", of.wall_ns},
                  {"step_median_ns", of.step_median_ns},
                  {"step_min_ns", of.step_min_ns},
                  {"step_max_ns", of.step_max_ns},
                  {"slow_steps", of.slow_count},
                  {"recorded_ns", of.recorded_ns},
                  {"recorded_busy_ns", of.recorded_busy_ns}};
    for (const time_use use : {time_use::compute, time_use::communication, time_use::copy, time_use::idle}) {
        out.totals.emplace_back(fmt::format("{}_ns", to_string(use)), of.total_of(use));
    }
    out.legend = {{"", "Each instant of a step counts once: compute before communication before copies before idle."},
                  {"mean", "mean: of a step, on a GPU."},
                  {"beside", "beside: the same while the GPU computed or communicated as well."}};
    return out;
}

report_columns<breakdown_row> idle_columns(const step_breakdown& of, const report_input& input) {
    const auto mean = [steps = of.steps](const breakdown_row& row) { return mean_over(row.total_ns, steps); };
    return {{{"group", "group", quantity::text, 1}, [](const auto& row) { return to_string(group_of(row.cause)); }},
            {{"cause", "cause"}, [](const auto& row) { return to_string(row.cause); }},
            {{"call", "call"}, [&](const auto& row) { return text_or_none(call_text(row, input.call_name)); }},
            {{"place", "place"}, text_or_none(&breakdown_row::part)},
            {{"total_ns", "", quantity::time_ns}, &breakdown_row::total_ns},
            {{"mean_ns", of.has_steps && input.step == nullptr ? "a step" : "time", quantity::time_ns}, mean},
            {{"share", "share", quantity::share},
             [idle_ns = of.total_of(time_use::idle)](const auto& row) { return share_of(row.total_ns, idle_ns); }},
            {{"pieces", "gaps", quantity::count}, &breakdown_row::pieces},
            {{"piece_mean_ns", "gap", quantity::time_ns, 2},
             [](const auto& row) { return share_of(row.total_ns, static_cast<std::int64_t>(row.pieces)); }},
            {{"longest_ns", "longest", quantity::time_ns, 3}, &breakdown_row::longest_ns},
            {{"after_wait_share", "after wait", quantity::share, 1},
             share_of(&breakdown_row::after_wait_ns, &breakdown_row::total_ns)}};
}

// One statistic in all tables of a step, the mean.
void make_breakdown_of_step(table& of, const mean_step& by) {
    by.set_unit(of);
    for (table_column& column : of.columns) {
        if (column.key == "median_ns") column.title.clear();
        if (column.key == "mean_ns") column.title = "time";
        if (column.key == "share" && of.report == "breakdown") column.title = "% of step";
        if (column.title == "time" && column.key.empty()) column.title = "use";
    }
    for (legend_line& line : of.legend) {
        if (line.column == "mean") line = {"time", "time: of a step, on a GPU."};
    }
}

}  // namespace

table breakdown_report(const report_input& input) {
    std::optional<step_breakdown> of = made(input);
    if (!of) {
        table none = empty_breakdown({});
        none.legend.clear();
        none.instead = no_step_time(input);
        return none;
    }
    const auto from = std::make_shared<const named_breakdown>(named(std::move(*of), input));
    table out = empty_breakdown(from->of);
    const report_columns<breakdown_line> columns = breakdown_columns(from->of);
    for (std::size_t i = 0; i < from->of.rows.size(); ++i) out.rows.push_back(cells_of(columns, from->line(i, {})));
    if (input.step != nullptr) make_breakdown_of_step(out, *input.step);
    out.shorten = [from](const table&, const shown_limits& limits) { return breakdown_rows(*from, limits).run(); };
    return out;
}

table idle_report(const report_input& input) {
    const std::optional<step_breakdown> of = made(input);
    const report_columns<breakdown_row> columns = idle_columns(of.value_or(step_breakdown()), input);
    table out = make_table("idle", "Why the GPU was idle", columns);
    if (!of) {
        out.instead = no_step_time(input);
        return out;
    }
    const std::int64_t idle_ns = of->total_of(time_use::idle);
    for (const breakdown_row& row : of->rows) {
        if (row.use == time_use::idle) out.rows.push_back(cells_of(columns, row));
    }
    out.totals = {{"steps", of->steps}, {"devices", of->devices}, {"wall_ns", of->wall_ns}, {"idle_ns", idle_ns}};
    out.unit_ns = static_cast<std::int64_t>(mean_over(idle_ns, of->steps));
    if (input.step != nullptr) {
        make_breakdown_of_step(out, *input.step);
        divide_count(out, "pieces", *input.step);
    }
    if (out.rows.empty()) out.instead = "the GPU was never idle in a step";
    out.legend = {
        {"place", "place: the ranges in which the host was."},
        {"share", "share: of the idle time."},
        {"after wait", "after wait: part of it in gaps that a call which waits began, since it drained the queue."}};
    return out;
}

}  // namespace prof
