// SPDX-License-Identifier: Apache-2.0
// The reports breakdown (where a step's time goes) and idle (why the GPU had nothing to do).
#include <fmt/format.h>

#include <algorithm>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "analysis/breakdown/step_breakdown.hpp"
#include "analysis/reports/durations.hpp"
#include "analysis/reports/gpu_projection.hpp"
#include "analysis/reports/reports.hpp"
#include "analysis/reports/time_answer.hpp"
#include "base/display_text.hpp"

namespace prof {
namespace {

constexpr std::size_t most_in_a_group = 8;  // of rows for people; the rest is one

std::optional<step_breakdown> made(const report_input& input) { return breakdown_of(projected_timeline(input), input); }

// Rows that stand under one heading: a use of time, or a group of causes.
std::string group_of(const breakdown_row& row) {
    return std::string(row.use == time_use::idle ? to_string(group_of(row.cause)) : to_string(row.use));
}

std::string what(const breakdown_row& row, const report_input& input) {
    if (row.use == time_use::idle) return idle_text(row, input);
    return row.part.empty() ? "other" : row.part;
}

// Of a step, on one GPU.
double mean_of(std::int64_t total_ns, const step_breakdown& of) {
    return static_cast<double>(total_ns) / static_cast<double>(std::max<std::uint64_t>(of.steps, 1));
}

class breakdown_table {
public:
    breakdown_table(const step_breakdown& of, const report_input& input) : of_(of), input_(input) {
        out_.report = "breakdown";
        out_.heading = of.has_steps ? "Where a step's time goes" : "Where the recorded time goes";
        if (of.devices > 1) out_.heading += fmt::format(", on {} GPUs together", of.devices);
        out_.columns = {{"use", ""},
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
                        {"", "beside", quantity::time_ns, 1}};
        out_.unit_ns = static_cast<std::int64_t>(mean_of(of.wall_ns, of));
        out_.totals = {{"has_steps", of.has_steps},
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
            out_.totals.emplace_back(fmt::format("{}_ns", to_string(use)), of.total_of(use));
        }
    }

    table run() {
        if (input_.for_people) {
            for (const time_use use : {time_use::compute, time_use::communication, time_use::copy}) add_group(use);
            add_idle();
            out_.sums.push_back(sum_row("all", of_.wall_ns, 0, of_.has_steps));
            add_notes();
            const bool overlaps = std::any_of(of_.rows.begin(), of_.rows.end(),
                                              [](const breakdown_row& row) { return row.overlapped_ns != 0; });
            if (!overlaps) out_.columns.back().title.clear();
        } else {
            for (const breakdown_row& row : of_.rows) out_.rows.push_back(line(row, {}));
        }
        return std::move(out_);
    }

private:
    table_row line(const breakdown_row& row, std::string text) const {
        const bool is_idle = row.use == time_use::idle;
        const std::string call = call_text(row, input_);
        return {std::string(to_string(row.use)),
                is_idle ? table_cell(std::string(to_string(row.cause))) : table_cell(),
                call.empty() ? table_cell() : table_cell(call),
                row.part,
                std::move(text),
                row.total_ns,
                mean_of(row.total_ns, of_),
                share_of(row.total_ns, of_.wall_ns),
                row.median_ns,
                row.min_ns,
                row.max_ns,
                row.overlapped_ns,
                row.overlapped_ns == 0 ? blank_cell() : table_cell(mean_of(row.overlapped_ns, of_))};
    }

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
                overlapped_ns == 0 ? blank_cell() : table_cell(mean_of(overlapped_ns, of_))};
    }

    // The largest rows, and one that stands for the others. REQUIRES: they are sorted.
    void add_rows(const std::vector<const breakdown_row*>& rows, std::string_view indent) {
        const std::size_t most = input_.rows == SIZE_MAX ? rows.size() : most_in_a_group;
        const std::size_t shown = rows.size() <= most + 1 ? rows.size() : most;
        for (std::size_t i = 0; i < shown; ++i) {
            out_.rows.push_back(line(*rows[i], std::string(indent) + what(*rows[i], input_)));
        }
        if (shown == rows.size()) return;
        add_sum(fmt::format("{}… {} more", indent, rows.size() - shown), std::span(rows).subspan(shown));
    }

    template <typename TIs>
    std::vector<const breakdown_row*> rows_that(TIs&& is) const {
        std::vector<const breakdown_row*> out;
        for (const breakdown_row& row : of_.rows) {
            if (is(row)) out.push_back(&row);
        }
        return out;
    }

    void add_sum(std::string text, std::span<const breakdown_row* const> rows) {
        std::int64_t total_ns = 0;
        std::int64_t overlapped_ns = 0;
        for (const breakdown_row* const row : rows) {
            total_ns += row->total_ns;
            overlapped_ns += row->overlapped_ns;
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

    void add_notes() {
        for (const slow_step& step : of_.slow) {
            const breakdown_row& row = of_.rows[step.row];
            const auto ms = [](double ns) { return fmt::format("{:.3f} ms", ns / 1e6); };
            out_.notes.push_back(fmt::format(
                "step {} took {}, {} more than the median: {} of that is {}, {}", with_thousands(step.number),
                ms(static_cast<double>(step.length_ns)), ms(static_cast<double>(step.length_ns) - of_.step_median_ns),
                ms(static_cast<double>(step.excess_ns)), group_of(row), what(row, input_)));
        }
        if (of_.slow_count > of_.slow.size()) {
            out_.notes.push_back(
                fmt::format("{} more steps are slow", with_thousands(of_.slow_count - of_.slow.size())));
        }
        out_.legend = {
            {"", "Each instant of a step counts once: compute before communication before copies before idle."},
            {"mean", "mean: of a step, on a GPU."},
            {"beside", "beside: the same while the GPU computed or communicated as well."}};
    }

    const step_breakdown& of_;
    const report_input& input_;
    table out_;
};

table_row idle_row(const breakdown_row& row, const step_breakdown& of, std::int64_t idle_ns,
                   const report_input& input) {
    const std::string call = call_text(row, input);
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

}  // namespace

table breakdown_report(const report_input& input) {
    const std::optional<step_breakdown> of = made(input);
    if (of) return breakdown_table(*of, input).run();
    table out = breakdown_table({}, input).run();
    out.rows.clear();
    out.sums.clear();
    out.instead = no_step_time(input);
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
    if (out.rows.empty()) out.instead = "the GPU was never idle in a step";
    out.legend = {
        {"place", "place: the ranges in which the host was."},
        {"share", "share: of the idle time."},
        {"after wait", "after wait: part of it in gaps that a call which waits began, since it drained the queue."}};
    return out;
}

}  // namespace prof
