// SPDX-License-Identifier: Apache-2.0
#include "report/tables/gpu_projection.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "analysis/projection/row_fold.hpp"
#include "analysis/projection/segment.hpp"
#include "base/display_text.hpp"
#include "base/run_both.hpp"
#include "report/makers.hpp"
#include "report/report_column.hpp"
#include "report/tables/no_range_work.hpp"
#include "report/tables/projection_notes.hpp"
#include "report/tables/ranges_of_step.hpp"

namespace prof {
namespace {

constexpr std::string_view ellipsis = "… ";  // the beginning of a row that stands for others

// The source of a row of the table: a range, all GPU work, or the rows left out at this place.
struct projection_line {
    const projection_row& row;
    std::string_view type;
    std::int64_t total_gpu_ns = 0;
    std::uint64_t stands_for = 0;  // so many rows that are left out
};

double part_of_whole(double part, double whole) { return whole == 0 ? 0 : part / whole; }

table_cell shown_as(table_cell cell, cell_display display) {
    cell.display = display;
    return cell;
}

// A figure that only ranges have. It is blank in other rows.
table_cell range_cell(const projection_line& of, table_cell cell) {
    return of.row.kind == row_kind::range ? cell : shown_as(std::move(cell), cell_display::blank);
}

// A figure of the host, which captured ranges do not have.
table_cell host_cell(const projection_line& of, table_cell cell) {
    return of.row.is_captured ? shown_as(std::move(cell), cell_display::dash) : range_cell(of, std::move(cell));
}

double per_instance(const projection_line& of, std::int64_t ns) {
    return static_cast<double>(ns) / static_cast<double>(std::max<std::uint64_t>(of.row.instances, 1));
}

table_cell name_cell(const projection_line& of) {
    std::string out(2 * std::size_t{of.row.depth}, ' ');
    if (of.stands_for != 0) {
        return out +
               fmt::format("{}{} more row{}", ellipsis, with_thousands(of.stands_for), of.stands_for == 1 ? "" : "s");
    }
    const std::string shown = with_captured(shown_segment(of.row.path), of.row.is_captured);
    if (shown.starts_with(ellipsis)) out += '\\';
    return out + shown;
}

table_cell adopted_share(const projection_line& of) {
    if (of.row.adopted_ops == 0) return {};
    return part_of_whole(static_cast<double>(of.row.adopted_ops), static_cast<double>(of.row.ops));
}

table_cell gpu_share(const projection_line& of) {
    return part_of_whole(static_cast<double>(of.row.gpu_sum_ns), static_cast<double>(of.total_gpu_ns));
}

table_cell payload_cell(const projection_line& of) {
    return shown_as(of.row.payload_bytes, of.row.payload_bytes == 0 ? cell_display::blank : cell_display::value);
}

// Without GPU work, people get host times, and no columns and rows of zeros.
bool is_of_host(const projection& projected) noexcept { return projected.total_ops == 0; }

// Columns for a table of these rows, in the order of every format. A column whose place differs between formats appears
// twice.
class projection_columns {
public:
    projection_columns(const projection& projected, const std::vector<projection_row>& rows, std::string_view title)
        : is_of_host_(is_of_host(projected)), rows_(rows), title_(title) {}

    report_columns<projection_line> all() const {
        report_columns<projection_line> out = names_and_host_times();
        append(out, gpu_times());
        append(out, other_figures());
        return out;
    }

private:
    using columns = report_columns<projection_line>;

    // The titles in a table of GPU times, and in one of host times.
    std::string titled(const char* gpu, const char* host = "") const { return is_of_host_ ? host : gpu; }
    // Most programs do not need such a column: people have it if a row of the table uses it.
    template <typename TFigure>
    std::string titled_if_any(TFigure projection_row::*figure, const char* gpu, const char* host = "") const {
        const bool is_used = std::any_of(rows_.begin(), rows_.end(), [&](const auto& row) { return row.*figure != 0; });
        return is_used ? titled(gpu, host) : std::string();
    }

    // Cells of a figure that all rows have, that only ranges have, and that captured ranges do not have.
    static auto of_row(auto figure) {
        return [figure](const projection_line& line) { return table_cell(line.row.*figure); };
    }
    static auto of_range(auto figure) {
        return [figure](const projection_line& line) { return range_cell(line, line.row.*figure); };
    }
    static auto of_host(auto figure) {
        return [figure](const projection_line& line) { return host_cell(line, line.row.*figure); };
    }
    static table_cell type(const projection_line& line) { return line.type; }
    static table_column only_in(const char* key, quantity holds = quantity::text,
                                column_formats formats = column_formats::json) {
        return {.key = key, .title = {}, .holds = holds, .formats = formats};
    }

    columns names_and_host_times() const {
        using row = projection_row;
        return {{only_in("type", quantity::text, column_formats::csv), type},
                {{"path", ""}, of_row(&row::path)},
                {only_in("type"), type},
                {only_in("name"), of_row(&row::name)},
                {{"", std::string(title_)}, name_cell, true},
                {{"depth", "", quantity::count}, of_row(&row::depth)},
                {only_in("captured", quantity::flag), of_row(&row::is_captured)},
                {only_in("observed", quantity::flag), of_row(&row::is_observed)},
                {{"instances", "count", quantity::count}, of_range(&row::instances), true},
                {only_in("merged_names", quantity::count), of_row(&row::merged_names)},
                {{"host_ns", titled("host", "total"), quantity::time_ns}, of_host(&row::host_ns), true},
                {{"", titled_if_any(&row::host_self_ns, "", "self"), quantity::time_ns, 1},
                 of_range(&row::host_self_ns),
                 true},
                {{"", titled("", "each"), quantity::time_ns, 3},
                 [](const auto& line) { return range_cell(line, per_instance(line, line.row.host_ns)); }},
                {{"", titled("", "min"), quantity::time_ns, 2}, of_range(&row::host_min_ns)},
                {{"", titled("", "median"), quantity::time_ns, 2}, of_range(&row::host_median_ns)},
                {{"", titled("", "max"), quantity::time_ns, 2}, of_range(&row::host_max_ns)}};
    }

    columns gpu_times() const {
        using row = projection_row;
        return {{{"gpu_sum_ns", titled("GPU"), quantity::time_ns}, of_row(&row::gpu_sum_ns), true},
                {{"", titled("GPU %"), quantity::share}, gpu_share, true},
                {{"gpu_self_ns", titled("self"), quantity::time_ns, 2}, of_row(&row::gpu_self_ns), true},
                {{"", titled("host/each"), quantity::time_ns, 4},
                 [](const auto& line) { return host_cell(line, per_instance(line, line.row.host_ns)); }},
                {{"", titled("GPU/each"), quantity::time_ns, 4},
                 [](const auto& line) { return range_cell(line, per_instance(line, line.row.gpu_sum_ns)); }},
                {{"gpu_child_ns", "", quantity::time_ns}, of_row(&row::gpu_child_ns)},
                {{"gpu_busy_ns", titled("busy"), quantity::time_ns, 5}, of_row(&row::gpu_busy_ns)},
                {{"gpu_span_ns", titled("span"), quantity::time_ns, 6}, of_range(&row::gpu_span_ns)},
                {{"ops", titled("ops"), quantity::count, 3}, of_row(&row::ops), true},
                {{"", titled("adopted"), quantity::share, 1}, adopted_share},
                {{"self_ops", "", quantity::count}, of_row(&row::self_ops)},
                {{"adopted_ops", "", quantity::count}, of_row(&row::adopted_ops)},
                {{"adopted_ns", "", quantity::time_ns}, of_row(&row::adopted_ns)},
                {{"instance_min_ns", titled("min"), quantity::time_ns, 8}, of_range(&row::instance_min_ns)},
                {{"instance_median_ns", titled("median"), quantity::time_ns, 7}, of_range(&row::instance_median_ns)},
                {{"instance_max_ns", titled("max"), quantity::time_ns, 8}, of_range(&row::instance_max_ns)},
                {{"instance_stddev_ns", titled("stddev"), quantity::time_ns, 9}, of_range(&row::instance_stddev_ns)}};
    }

    columns other_figures() const {
        using row = projection_row;
        return {{{"", titled_if_any(&row::wait_ns, "GPU waits", "GPU waits"), quantity::time_ns, 2},
                 of_row(&row::wait_ns),
                 true},
                {{"communication_ns", titled_if_any(&row::communication_ns, "comm"), quantity::time_ns, 2},
                 of_row(&row::communication_ns),
                 true},
                {{"wait_ns", "", quantity::time_ns}, of_row(&row::wait_ns)},
                {{"payload_bytes", titled_if_any(&row::payload_bytes, "bytes", "bytes"), quantity::bytes, 2},
                 payload_cell,
                 true},
                {{"host_self_ns", "", quantity::time_ns}, of_row(&row::host_self_ns)},
                {{"host_min_ns", titled("host min"), quantity::time_ns, 10}, of_host(&row::host_min_ns)},
                {{"host_median_ns", titled("host median"), quantity::time_ns, 10}, of_host(&row::host_median_ns)},
                {{"host_max_ns", titled("host max"), quantity::time_ns, 10}, of_host(&row::host_max_ns)}};
    }

    bool is_of_host_;
    const std::vector<projection_row>& rows_;
    std::string_view title_;
};

std::vector<legend_line> range_legend() {
    return {{"host", "host: time between begin and end."},
            {"GPU", "GPU: durations of the operations launched inside, added."},
            {"self", "self: of those launched in no inner range."},
            {"busy", "busy: time with at least one running."},
            {"span", "span: first start to last end."},
            {"adopted", "adopted: share of them that another thread launched for the range."},
            {"median", "median: GPU, of one instance."},
            {"min", "min, max: likewise."},
            {"stddev", "stddev: likewise."},
            {"host median", "host min, median, max: of one instance."},
            {"GPU waits", "GPU waits: host time in calls that wait for the GPU, or may."},
            {"comm", "comm: of GPU, NCCL's kernels."},
            {"bytes", "bytes: as the ranges themselves say."}};
}

std::vector<legend_line> host_legend() {
    return {{"total", "total: time between begin and end."},
            {"self", "self: without the ranges directly inside, on the same thread."},
            {"median", "min to max: of one instance."},
            {"GPU waits", "GPU waits: in calls that wait for the GPU, or may."},
            {"bytes", "bytes: as the ranges themselves say."}};
}

constexpr std::string_view captured_legend =
    "(captured): open when a CUDA graph was captured; count: in launches of the graph.";

std::int64_t largest_time(const std::vector<projection_row>& rows) {
    std::int64_t largest = 0;
    for (const projection_row& row : rows) largest = std::max({largest, row.host_ns, row.gpu_sum_ns, row.gpu_span_ns});
    return largest;
}

std::vector<projection_row> rows_for_people(const projection& projected) {
    std::vector<projection_row> out = projected.rows;
    if (!is_of_host(projected)) return out;
    std::erase_if(out, [](const projection_row& row) { return row.kind != row_kind::range && row.wait_ns == 0; });
    return out;
}

std::string_view type_of(const projection_row& row) { return row_type(row.kind, row.is_captured, row.is_observed); }

projection_row all_work(const projection& projected) {
    projection_row total;
    total.path = "all GPU work";
    total.kind = row_kind::no_range;
    total.gpu_sum_ns = total.gpu_self_ns = projected.total_gpu_ns;
    total.gpu_busy_ns = projected.total_busy_ns;
    total.ops = projected.total_ops;
    total.adopted_ops = projected.adopted_ops;
    total.communication_ns = projected.communication_ns;
    total.wait_ns = projected.wait_ns;
    return total;
}

std::string_view type_of(const projection_row& row, std::string_view given) {
    return given.empty() ? type_of(row) : given;
}

// What people see of a projection, whose rows they get within limits.
class shown_projection {
public:
    shown_projection(projection projected, std::string if_none)
        : projected_(std::move(projected)), if_none_(std::move(if_none)) {}

    const projection& whole() const noexcept { return projected_; }

    shown_rows ranges(const shown_limits& limits) const {
        std::vector<shown_row> shown = chosen(rows_for_people(projected_), limits);
        shown_rows out = lines(shown, {});
        if (!is_of_host(projected_)) {
            const projection_row all = all_work(projected_);
            out.sums.push_back(cells_of(columns(), {all, {}, projected_.total_gpu_ns}));
        }
        if (out.rows.empty()) out.instead = if_none_;
        // The notes are on the rows of both tables.
        for (shown_row& row : chosen(projected_.process_ranges, limits)) shown.push_back(std::move(row));
        out.reading_notes = projection_notes(projected_, shown);
        return out;
    }
    shown_rows process_ranges(const shown_limits& limits) const {
        return lines(chosen(projected_.process_ranges, limits), "start_end");
    }

private:
    static std::vector<shown_row> chosen(const std::vector<projection_row>& rows, const shown_limits& limits) {
        return rows_to_show(rows, {.most = limits.rows, .deepest = limits.deepest});
    }
    report_columns<projection_line> columns() const { return projection_columns(projected_, {}, {}).all(); }
    // A row that stands for others has only the columns that add up.
    shown_rows lines(const std::vector<shown_row>& rows, std::string_view type) const {
        const report_columns<projection_line> all = columns();
        shown_rows out;
        for (const shown_row& row : rows) {
            const projection_line line{row.figures, type_of(row.figures, type), projected_.total_gpu_ns,
                                       row.stands_for};
            out.rows.push_back(row.stands_for == 0 ? cells_of(all, line) : sums_of(all, line));
        }
        return out;
    }

    projection projected_;
    std::string if_none_;
};

table projection_table(const projection& projected, const std::vector<projection_row>& rows, std::string heading,
                       std::string_view title, std::string_view type) {
    const report_columns<projection_line> columns = projection_columns(projected, rows, title).all();
    table out = make_table("gpu-projection", std::move(heading), columns);
    for (const projection_row& row : rows) {
        out.rows.push_back(cells_of(columns, {row, type_of(row, type), projected.total_gpu_ns}));
    }
    out.unit_ns = largest_time(rows);
    return out;
}

}  // namespace

report_part gpu_projection_part(projection given, std::optional<step_figures> step, std::string if_none) {
    const auto shown = std::make_shared<const shown_projection>(std::move(given), std::move(if_none));
    const projection& projected = shown->whole();
    const bool is_gpu = !is_of_host(projected);
    table ranges =
        projection_table(projected, projected.rows, is_gpu ? "GPU time by range" : "Host time by range", "range", {});
    ranges.unit_ns = std::max(*ranges.unit_ns, projected.total_gpu_ns);
    ranges.totals = {{"fold", projected.fold.text()},
                     {"total_gpu_ns", projected.total_gpu_ns},
                     {"total_busy_ns", projected.total_busy_ns},
                     {"total_ops", projected.total_ops},
                     {"adopted_ops", projected.adopted_ops},
                     {"ops_of_unseen_captures", projected.ops_of_unseen_captures},
                     {"ops_of_ambiguous_captures", projected.ops_of_ambiguous_captures},
                     {"communication_ns", projected.communication_ns},
                     {"wait_ns", projected.wait_ns}};
    ranges.shorten = [shown](const table&, const shown_limits& limits) { return shown->ranges(limits); };

    table process =
        projection_table(projected, projected.process_ranges, "Start/end ranges", "start/end range", "start_end");
    if (is_gpu) process.remark = ": operations launched between start and end by whatever thread";
    process.rows_key = "process_ranges";
    process.shows_if_empty = false;
    process.shorten = [shown](const table&, const shown_limits& limits) { return shown->process_ranges(limits); };

    std::vector<legend_line>& legend = (projected.process_ranges.empty() ? ranges : process).legend;
    legend = is_gpu ? range_legend() : host_legend();
    const bool has_captured = std::any_of(projected.rows.begin(), projected.rows.end(),
                                          [](const projection_row& row) { return row.is_captured; });
    if (has_captured) legend.push_back({"", std::string(captured_legend)});

    report_part out{.name = ranges.report};
    out.blocks.emplace_back(answer_block{.step = std::move(step)});
    out.blocks.emplace_back(std::move(ranges));
    out.blocks.emplace_back(std::move(process));
    return out;
}

namespace {

// Where a capture has no range, the table that has something.
std::string text_without_ranges(const timeline& data) {
    const auto count = std::count_if(data.ranges.begin(), data.ranges.end(),
                                     [](const timeline_range& range) { return range.is_operator; });
    std::string out = "no range was recorded";
    if (count == 0) return out;
    return out + fmt::format("; --report pytorch_ops has the {} operator{} of PyTorch", count, count == 1 ? "" : "s");
}

// What is neither forward nor backward of a JAX program, and what of it may be both.
std::string fusion_note(const time_answer& answer) {
    std::int64_t other_ns = 0;
    std::int64_t with_gradients_ns = 0;
    std::int64_t unknown_ns = 0;
    std::int64_t both_ns = 0;
    bool has_phases = false;
    for (const time_share& share : answer.busy) {
        const std::string_view what = share.what;
        has_phases = has_phases || what == "forward" || what == "backward";
        if (what == xla_other_text) other_ns += share.total_ns;
        if (what == xla_other_fusions_text) unknown_ns += share.total_ns;
        if (what == "forward + backward") both_ns += share.total_ns;
        if (what.find("backward + ") != std::string_view::npos) with_gradients_ns += share.total_ns;
    }
    const std::int64_t busy_ns = time_answer::total(answer.busy);
    if (!has_phases || busy_ns <= 0 || other_ns + with_gradients_ns + unknown_ns == 0) return {};
    const auto share = [&](std::int64_t ns) {
        return fmt::format("{:.1f} %", 100 * static_cast<double>(ns) / static_cast<double>(busy_ns));
    };
    std::string out = "of the GPU's busy time in steps ";
    if (both_ns != 0) out += fmt::format("{} is forward and backward in one fusion, and ", share(both_ns));
    out += fmt::format("{} is {}", share(other_ns + with_gradients_ns + unknown_ns),
                       both_ns != 0 ? "neither alone" : "neither forward nor backward alone");
    if (with_gradients_ns != 0 || unknown_ns == 0) {
        out += fmt::format(": {} are fusions of gradients with other operations, as an update's",
                           share(with_gradients_ns));
    }
    if (unknown_ns == 0) return out;
    return out + fmt::format(
                     "; {} (other fusions) may be, as their operations have no scope in common and the capture "
                     "does not have their names",
                     share(unknown_ns));
}

}  // namespace

report_part gpu_projection_part(const projected_timeline& shown, const report_input& input) {
    report_part out;
    std::vector<no_range_work> no_range;
    std::optional<step_breakdown> broken_down;
    std::optional<step_table> where;
    std::optional<run_parts> run;
    run_both(
        input.may_use_threads,
        [&] {
            if (input.step != nullptr) {
                out = ranges_of_step(*input.step, shown, input, text_without_ranges(shown.data()));
                out.blocks.emplace(out.blocks.begin(), answer_block{.step = step_figures_of(shown, input)});
            } else {
                out = gpu_projection_part(project(shown.data(), shown.att(), input.projected),
                                          step_figures_of(shown, input), text_without_ranges(shown.data()));
            }
            no_range = largest_without_range(input.step == nullptr ? shown.data() : input.step->data(),
                                             input.step == nullptr ? shown.att() : input.step->att(), input);
            if (!no_range.empty()) out.reading_notes.push_back(no_range_note(no_range));
        },
        [&] {
            broken_down = breakdown_of(shown, input);
            where = step_table_of(shown, input);
            run = run_parts_of(shown, input);
        });
    if (auto* const ranges = block_in<table>(out);
        ranges != nullptr && input.selected != nullptr && input.selected->has_ranges()) {
        ranges->remark = ": sums of all that was selected; ranges are no steps";
    }
    auto& answer = *block_in<answer_block>(out);
    answer.where = std::move(where);
    if (input.selected == nullptr) answer.run = run;
    answer.no_range = std::move(no_range);
    if (broken_down) answer.answer = answer_of(std::move(*broken_down), input.call_name);
    if (answer.answer && has_xla_ranges(shown.data())) {
        if (std::string note = fusion_note(*answer.answer); !note.empty())
            block_in<table>(out)->notes.push_back(std::move(note));
    }
    return out;
}

report_part gpu_projection_report(const report_input& input) {
    return gpu_projection_part(projected_timeline(input), input);
}

}  // namespace prof
