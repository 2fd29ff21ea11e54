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

table_cell share_or_none(const thread_shares& did, double share) {
    return did.is_known() ? table_cell(share) : table_cell();
}

// Rows that stand under one heading: a use of time, or a group of causes.
std::string group_of(const breakdown_row& row) {
    return std::string(row.use == time_use::idle ? to_string(group_of(row.cause)) : to_string(row.use));
}

std::string what(const breakdown_row& row, const report_input& input) {
    if (row.use == time_use::idle) return idle_text(row, input.call_name);
    return row.part.empty() ? "other" : row.part;
}

// Of a step, on one GPU.
double mean_of(std::int64_t total_ns, const step_breakdown& of) {
    return static_cast<double>(total_ns) / static_cast<double>(std::max<std::uint64_t>(of.steps, 1));
}

// A breakdown, and what its rows are called.
struct named_breakdown {
    step_breakdown of;
    std::vector<std::string> calls;  // by row; "": none
    std::vector<std::string> texts;  // by row
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

// The rows that people see: each use of time with its largest parts.
class breakdown_rows {
public:
    breakdown_rows(const named_breakdown& from, const shown_limits& limits)
        : of_(from.of), from_(from), limits_(limits) {}

    // Of one row, as programs get it.
    static table_row line(const named_breakdown& from, std::size_t index, std::string text) {
        const breakdown_row& row = from.of.rows[index];
        const bool is_idle = row.use == time_use::idle;
        const std::string& call = from.calls[index];
        return {std::string(to_string(row.use)),
                is_idle ? table_cell(std::string(to_string(row.cause))) : table_cell(),
                call.empty() ? table_cell() : table_cell(call),
                row.part,
                std::move(text),
                row.total_ns,
                mean_of(row.total_ns, from.of),
                share_of(row.total_ns, from.of.wall_ns),
                row.median_ns,
                row.min_ns,
                row.max_ns,
                row.overlapped_ns,
                row.overlapped_ns == 0 ? blank_cell() : table_cell(mean_of(row.overlapped_ns, from.of)),
                share_or_none(row.did, row.did.ran),
                share_or_none(row.did, row.did.waited),
                share_or_none(row.did, row.did.blocked),
                row.did.blocked_in.empty() ? table_cell() : table_cell(row.did.blocked_in)};
    }

    shown_rows run() {
        for (const time_use use : {time_use::compute, time_use::communication, time_use::copy}) add_group(use);
        add_idle();
        add_threads();
        out_.sums.push_back(sum_row("all", of_.wall_ns, 0, of_.has_steps));
        add_slow_steps();
        return std::move(out_);
    }

private:
    table_row sum_row(std::string text, std::int64_t total_ns, std::int64_t overlapped_ns,
                      bool has_spread = false) const {
        const auto of_step = [&](auto value) { return has_spread ? table_cell(value) : blank_cell(); };
        return {table_cell(),
                table_cell(),
                table_cell(),
                table_cell(),
                std::move(text),
                total_ns,
                mean_of(total_ns, of_),
                share_of(total_ns, of_.wall_ns),
                of_step(of_.step_median_ns),
                of_step(of_.step_min_ns),
                of_step(of_.step_max_ns),
                overlapped_ns,
                overlapped_ns == 0 ? blank_cell() : table_cell(mean_of(overlapped_ns, of_)),
                table_cell(),
                table_cell(),
                table_cell(),
                table_cell()};
    }

    // The largest rows, and one that stands for the others. REQUIRES: they are sorted.
    void add_rows(const std::vector<std::size_t>& rows, std::string_view indent) {
        const std::size_t most = limits_.rows == SIZE_MAX ? rows.size() : most_in_a_group;
        const std::size_t shown = rows.size() <= most + 1 ? rows.size() : most;
        for (std::size_t i = 0; i < shown; ++i) {
            out_.rows.push_back(line(from_, rows[i], std::string(indent) + from_.texts[rows[i]]));
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
        std::int64_t total_ns = 0;
        std::int64_t overlapped_ns = 0;
        for (const std::size_t row : rows) {
            total_ns += of_.rows[row].total_ns;
            overlapped_ns += of_.rows[row].overlapped_ns;
        }
        out_.rows.push_back(sum_row(std::move(text), total_ns, overlapped_ns));
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
    shown_rows out_;
};

// Without rows.
table empty_breakdown(const step_breakdown& of) {
    table out;
    out.report = "breakdown";
    out.heading = of.has_steps ? "Where a step's time goes" : "Where the recorded time goes";
    if (of.devices > 1) out.heading += fmt::format(", on {} GPUs together", of.devices);
    out.columns = {{"use", ""},
                   {"cause", ""},
                   {"call", ""},
                   {"part", ""},
                   {"", "time"},
                   {"total_ns", "", quantity::time_ns},
                   {"mean_ns", "mean", quantity::time_ns},
                   {"share", "share", quantity::share},
                   {"median_ns", "median", quantity::time_ns, 1},
                   {"min_ns", "min", quantity::time_ns, 2},
                   {"max_ns", "max", quantity::time_ns, 2},
                   {"overlapped_ns", "", quantity::time_ns},
                   {"", "beside", quantity::time_ns, 1},
                   {"ran_share", "", quantity::share},
                   {"waited_share", "", quantity::share},
                   {"blocked_share", "", quantity::share},
                   {"blocked_in", ""}};
    out.unit_ns = static_cast<std::int64_t>(mean_of(of.wall_ns, of));
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

table_row idle_row(const breakdown_row& row, const step_breakdown& of, std::int64_t idle_ns,
                   const report_input& input) {
    const std::string call = call_text(row, input.call_name);
    return {std::string(to_string(group_of(row.cause))),
            std::string(to_string(row.cause)),
            call.empty() ? table_cell() : table_cell(call),
            row.part.empty() ? table_cell() : table_cell(row.part),
            row.total_ns,
            mean_of(row.total_ns, of),
            share_of(row.total_ns, idle_ns),
            row.pieces,
            share_of(row.total_ns, static_cast<std::int64_t>(row.pieces)),
            row.longest_ns,
            share_of(row.after_wait_ns, row.total_ns)};
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
    for (std::size_t i = 0; i < from->of.rows.size(); ++i) out.rows.push_back(breakdown_rows::line(*from, i, {}));
    const bool overlaps = std::any_of(from->of.rows.begin(), from->of.rows.end(),
                                      [](const breakdown_row& row) { return row.overlapped_ns != 0; });
    if (!overlaps)
        std::find_if(out.columns.begin(), out.columns.end(), [](const table_column& each) {
            return each.title == "beside";
        })->title.clear();
    if (input.step != nullptr) make_breakdown_of_step(out, *input.step);
    out.shorten = [from](const table&, const shown_limits& limits) { return breakdown_rows(*from, limits).run(); };
    return out;
}

table idle_report(const report_input& input) {
    table out{"idle", "Why the GPU was idle", {}, {}, {}};
    out.columns = {{"group", "group", quantity::text, 1},
                   {"cause", "cause"},
                   {"call", "call"},
                   {"place", "place"},
                   {"total_ns", "", quantity::time_ns},
                   {"mean_ns", "a step", quantity::time_ns},
                   {"share", "share", quantity::share},
                   {"pieces", "gaps", quantity::count},
                   {"piece_mean_ns", "gap", quantity::time_ns, 2},
                   {"longest_ns", "longest", quantity::time_ns, 3},
                   {"after_wait_share", "after wait", quantity::share, 1}};
    const std::optional<step_breakdown> of = made(input);
    if (!of) {
        out.instead = no_step_time(input);
        return out;
    }
    if (!of->has_steps) out.columns[5].title = "time";
    const std::int64_t idle_ns = of->total_of(time_use::idle);
    for (const breakdown_row& row : of->rows) {
        if (row.use == time_use::idle) out.rows.push_back(idle_row(row, *of, idle_ns, input));
    }
    out.totals = {{"steps", of->steps}, {"devices", of->devices}, {"wall_ns", of->wall_ns}, {"idle_ns", idle_ns}};
    out.unit_ns = static_cast<std::int64_t>(mean_of(idle_ns, *of));
    if (input.step != nullptr) {
        out.columns[5].title = "time";
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
