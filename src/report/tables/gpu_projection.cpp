// SPDX-License-Identifier: Apache-2.0
#include "report/tables/gpu_projection.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <iterator>
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
table_cell of_range(const projection_line& of, table_cell cell) {
    return of.row.kind == row_kind::range ? cell : shown_as(std::move(cell), cell_display::blank);
}

// A figure of the host, which captured ranges do not have.
table_cell of_host(const projection_line& of, table_cell cell) {
    return of.row.is_captured ? shown_as(std::move(cell), cell_display::dash) : of_range(of, std::move(cell));
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

struct projection_column {
    std::string_view key{};         // this and the next five are those of table_column
    std::string_view title{};       // first_title is replaced by the title that the table gives
    std::string_view host_title{};  // the title in a table of host times, of a capture without GPU work
    quantity holds = quantity::text;
    int importance = 0;
    column_formats formats = column_formats::csv_and_json;
    table_cell (*cell)(const projection_line&);
    bool adds_up = false;  // a row that stands for others has it
    // Set for columns that most programs do not need: tables for people have them if a row of the table uses them.
    bool (*is_used)(const projection_row&) = nullptr;
};

constexpr std::string_view first_title = "range";

bool has_host_self(const projection_row& row) { return row.host_self_ns != 0; }
bool has_wait(const projection_row& row) { return row.wait_ns != 0; }
bool has_communication(const projection_row& row) { return row.communication_ns != 0; }
bool has_payload(const projection_row& row) { return row.payload_bytes != 0; }

// All columns, in the order of every format. A column whose place differs between formats appears twice.
constexpr auto projection_columns = std::to_array<projection_column>({
    {.key = "type",
     .formats = column_formats::csv,
     .cell = [](const projection_line& of) { return table_cell(std::string(of.type)); }},
    {.key = "path", .cell = [](const projection_line& of) { return table_cell(of.row.path); }},
    {.key = "type",
     .formats = column_formats::json,
     .cell = [](const projection_line& of) { return table_cell(std::string(of.type)); }},
    {.key = "name",
     .formats = column_formats::json,
     .cell = [](const projection_line& of) { return table_cell(of.row.name); }},
    {.title = first_title, .host_title = first_title, .cell = name_cell, .adds_up = true},
    {.key = "depth",
     .holds = quantity::count,
     .cell = [](const projection_line& of) { return table_cell(of.row.depth); }},
    {.key = "captured",
     .holds = quantity::flag,
     .formats = column_formats::json,
     .cell = [](const projection_line& of) { return table_cell(of.row.is_captured); }},
    {.key = "observed",
     .holds = quantity::flag,
     .formats = column_formats::json,
     .cell = [](const projection_line& of) { return table_cell(of.row.is_observed); }},
    {.key = "instances",
     .title = "count",
     .host_title = "count",
     .holds = quantity::count,
     .cell = [](const projection_line& of) { return of_range(of, of.row.instances); },
     .adds_up = true},
    {.key = "merged_names",
     .holds = quantity::count,
     .formats = column_formats::json,
     .cell = [](const projection_line& of) { return table_cell(of.row.merged_names); }},
    {.key = "host_ns",
     .title = "host",
     .host_title = "total",
     .holds = quantity::time_ns,
     .cell = [](const projection_line& of) { return of_host(of, of.row.host_ns); },
     .adds_up = true},
    {.host_title = "self",
     .holds = quantity::time_ns,
     .importance = 1,
     .cell = [](const projection_line& of) { return of_range(of, of.row.host_self_ns); },
     .adds_up = true,
     .is_used = has_host_self},
    {.host_title = "each",
     .holds = quantity::time_ns,
     .importance = 3,
     .cell = [](const projection_line& of) { return of_range(of, per_instance(of, of.row.host_ns)); }},
    {.host_title = "min",
     .holds = quantity::time_ns,
     .importance = 2,
     .cell = [](const projection_line& of) { return of_range(of, of.row.host_min_ns); }},
    {.host_title = "median",
     .holds = quantity::time_ns,
     .importance = 2,
     .cell = [](const projection_line& of) { return of_range(of, of.row.host_median_ns); }},
    {.host_title = "max",
     .holds = quantity::time_ns,
     .importance = 2,
     .cell = [](const projection_line& of) { return of_range(of, of.row.host_max_ns); }},
    {.key = "gpu_sum_ns",
     .title = "GPU",
     .holds = quantity::time_ns,
     .cell = [](const projection_line& of) { return table_cell(of.row.gpu_sum_ns); },
     .adds_up = true},
    {.title = "GPU %", .holds = quantity::share, .cell = gpu_share, .adds_up = true},
    {.key = "gpu_self_ns",
     .title = "self",
     .holds = quantity::time_ns,
     .importance = 2,
     .cell = [](const projection_line& of) { return table_cell(of.row.gpu_self_ns); },
     .adds_up = true},
    {.title = "host/each",
     .holds = quantity::time_ns,
     .importance = 4,
     .cell = [](const projection_line& of) { return of_host(of, per_instance(of, of.row.host_ns)); }},
    {.title = "GPU/each",
     .holds = quantity::time_ns,
     .importance = 4,
     .cell = [](const projection_line& of) { return of_range(of, per_instance(of, of.row.gpu_sum_ns)); }},
    {.key = "gpu_child_ns",
     .holds = quantity::time_ns,
     .cell = [](const projection_line& of) { return table_cell(of.row.gpu_child_ns); }},
    {.key = "gpu_busy_ns",
     .title = "busy",
     .holds = quantity::time_ns,
     .importance = 5,
     .cell = [](const projection_line& of) { return table_cell(of.row.gpu_busy_ns); }},
    {.key = "gpu_span_ns",
     .title = "span",
     .holds = quantity::time_ns,
     .importance = 6,
     .cell = [](const projection_line& of) { return of_range(of, of.row.gpu_span_ns); }},
    {.key = "ops",
     .title = "ops",
     .holds = quantity::count,
     .importance = 3,
     .cell = [](const projection_line& of) { return table_cell(of.row.ops); },
     .adds_up = true},
    {.title = "adopted", .holds = quantity::share, .importance = 1, .cell = adopted_share},
    {.key = "self_ops",
     .holds = quantity::count,
     .cell = [](const projection_line& of) { return table_cell(of.row.self_ops); }},
    {.key = "adopted_ops",
     .holds = quantity::count,
     .cell = [](const projection_line& of) { return table_cell(of.row.adopted_ops); }},
    {.key = "adopted_ns",
     .holds = quantity::time_ns,
     .cell = [](const projection_line& of) { return table_cell(of.row.adopted_ns); }},
    {.key = "instance_min_ns",
     .title = "min",
     .holds = quantity::time_ns,
     .importance = 8,
     .cell = [](const projection_line& of) { return of_range(of, of.row.instance_min_ns); }},
    {.key = "instance_median_ns",
     .title = "median",
     .holds = quantity::time_ns,
     .importance = 7,
     .cell = [](const projection_line& of) { return of_range(of, of.row.instance_median_ns); }},
    {.key = "instance_max_ns",
     .title = "max",
     .holds = quantity::time_ns,
     .importance = 8,
     .cell = [](const projection_line& of) { return of_range(of, of.row.instance_max_ns); }},
    {.key = "instance_stddev_ns",
     .title = "stddev",
     .holds = quantity::time_ns,
     .importance = 9,
     .cell = [](const projection_line& of) { return of_range(of, of.row.instance_stddev_ns); }},
    {.title = "wait",
     .host_title = "wait",
     .holds = quantity::time_ns,
     .importance = 2,
     .cell = [](const projection_line& of) { return table_cell(of.row.wait_ns); },
     .adds_up = true,
     .is_used = has_wait},
    {.key = "communication_ns",
     .title = "comm",
     .holds = quantity::time_ns,
     .importance = 2,
     .cell = [](const projection_line& of) { return table_cell(of.row.communication_ns); },
     .adds_up = true,
     .is_used = has_communication},
    {.key = "wait_ns",
     .holds = quantity::time_ns,
     .cell = [](const projection_line& of) { return table_cell(of.row.wait_ns); }},
    {.key = "payload_bytes",
     .title = "bytes",
     .host_title = "bytes",
     .holds = quantity::bytes,
     .importance = 2,
     .cell = payload_cell,
     .adds_up = true,
     .is_used = has_payload},
    {.key = "host_self_ns",
     .holds = quantity::time_ns,
     .cell = [](const projection_line& of) { return table_cell(of.row.host_self_ns); }},
    {.key = "host_min_ns",
     .title = "host min",
     .holds = quantity::time_ns,
     .importance = 10,
     .cell = [](const projection_line& of) { return of_host(of, of.row.host_min_ns); }},
    {.key = "host_median_ns",
     .title = "host median",
     .holds = quantity::time_ns,
     .importance = 10,
     .cell = [](const projection_line& of) { return of_host(of, of.row.host_median_ns); }},
    {.key = "host_max_ns",
     .title = "host max",
     .holds = quantity::time_ns,
     .importance = 10,
     .cell = [](const projection_line& of) { return of_host(of, of.row.host_max_ns); }},
});

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
            {"wait", "wait: host time in calls that wait for the GPU."},
            {"comm", "comm: of GPU, NCCL's kernels."},
            {"bytes", "bytes: as the ranges themselves say."}};
}

std::vector<legend_line> host_legend() {
    return {{"total", "total: time between begin and end."},
            {"self", "self: without the ranges directly inside, on the same thread."},
            {"median", "min to max: of one instance."},
            {"wait", "wait: in calls that wait for the GPU."},
            {"bytes", "bytes: as the ranges themselves say."}};
}

constexpr std::string_view captured_legend =
    "(captured): open when a CUDA graph was captured; count: in launches of the graph.";

std::int64_t largest_time(const std::vector<projection_row>& rows) {
    std::int64_t largest = 0;
    for (const projection_row& row : rows) largest = std::max({largest, row.host_ns, row.gpu_sum_ns, row.gpu_span_ns});
    return largest;
}

// Without GPU work, people get host times, and no columns and rows of zeros.
bool is_of_host(const projection& projected) noexcept { return projected.total_ops == 0; }

std::vector<projection_row> rows_for_people(const projection& projected) {
    std::vector<projection_row> out = projected.rows;
    if (!is_of_host(projected)) return out;
    std::erase_if(out, [](const projection_row& row) { return row.kind != row_kind::range && row.wait_ns == 0; });
    return out;
}

// A row that stands for others has only the columns that add up.
table_row cells_of(const projection_line& of) {
    table_row out;
    out.reserve(projection_columns.size());
    for (const projection_column& column : projection_columns) {
        const bool has_value = of.stands_for == 0 || column.adds_up;
        out.push_back(has_value ? column.cell(of) : shown_as({}, cell_display::blank));
    }
    return out;
}

class projection_table {
public:
    projection_table(const projection& projected, const std::vector<projection_row>& rows, std::string_view title)
        : total_gpu_ns_(projected.total_gpu_ns) {
        out_.report = "gpu-projection";
        for (const projection_column& column : projection_columns) {
            const bool is_shown = column.is_used == nullptr || std::any_of(rows.begin(), rows.end(), column.is_used);
            const std::string_view own = is_of_host(projected) ? column.host_title : column.title;
            const std::string_view shown = own == first_title ? title : own;
            out_.columns.push_back({.key = std::string(column.key),
                                    .title = std::string(is_shown ? shown : std::string_view()),
                                    .holds = column.holds,
                                    .importance = column.importance,
                                    .formats = column.formats});
        }
    }

    void add(const projection_row& row, std::string_view type) {
        out_.rows.push_back(cells_of({row, type, total_gpu_ns_}));
    }

    table& out() noexcept { return out_; }

private:
    std::int64_t total_gpu_ns_;
    table out_;
};

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
        shown_rows out = rows_of(shown, {});
        if (!is_of_host(projected_)) {
            const projection_row all = all_work(projected_);
            out.sums.push_back(cells_of({all, {}, projected_.total_gpu_ns}));
        }
        if (out.rows.empty()) out.instead = if_none_;
        // The notes are on the rows of both tables.
        for (shown_row& row : chosen(projected_.process_ranges, limits)) shown.push_back(std::move(row));
        out.reading_notes = projection_notes(projected_, shown);
        return out;
    }
    shown_rows process_ranges(const shown_limits& limits) const {
        return rows_of(chosen(projected_.process_ranges, limits), "start_end");
    }

private:
    static std::vector<shown_row> chosen(const std::vector<projection_row>& rows, const shown_limits& limits) {
        return rows_to_show(rows, {.most = limits.rows, .deepest = limits.deepest});
    }
    shown_rows rows_of(const std::vector<shown_row>& rows, std::string_view type) const {
        shown_rows out;
        for (const shown_row& row : rows) {
            out.rows.push_back(
                cells_of({row.figures, type_of(row.figures, type), projected_.total_gpu_ns, row.stands_for}));
        }
        return out;
    }

    projection projected_;
    std::string if_none_;
};

}  // namespace

report_part gpu_projection_part(projection given, std::optional<step_figures> step, std::string if_none) {
    const auto shown = std::make_shared<const shown_projection>(std::move(given), std::move(if_none));
    const projection& projected = shown->whole();
    projection_table ranges(projected, projected.rows, first_title);
    const bool is_gpu = !is_of_host(projected);
    ranges.out().heading = is_gpu ? "GPU time by range" : "Host time by range";
    ranges.out().unit_ns = std::max(largest_time(projected.rows), projected.total_gpu_ns);
    ranges.out().totals = {{"fold", projected.fold.text()},
                           {"total_gpu_ns", projected.total_gpu_ns},
                           {"total_busy_ns", projected.total_busy_ns},
                           {"total_ops", projected.total_ops},
                           {"adopted_ops", projected.adopted_ops},
                           {"ops_of_unseen_captures", projected.ops_of_unseen_captures},
                           {"ops_of_ambiguous_captures", projected.ops_of_ambiguous_captures},
                           {"communication_ns", projected.communication_ns},
                           {"wait_ns", projected.wait_ns}};
    for (const projection_row& row : projected.rows) ranges.add(row, type_of(row));
    ranges.out().shorten = [shown](const table&, const shown_limits& limits) { return shown->ranges(limits); };

    projection_table process(projected, projected.process_ranges, "start/end range");
    process.out().heading = "Start/end ranges";
    if (is_gpu) process.out().remark = ": operations launched between start and end by whatever thread";
    process.out().rows_key = "process_ranges";
    process.out().shows_if_empty = false;
    process.out().unit_ns = largest_time(projected.process_ranges);
    for (const projection_row& row : projected.process_ranges) process.add(row, "start_end");
    process.out().shorten = [shown](const table&, const shown_limits& limits) { return shown->process_ranges(limits); };

    std::vector<legend_line>& legend = (projected.process_ranges.empty() ? ranges : process).out().legend;
    legend = is_gpu ? range_legend() : host_legend();
    const bool has_captured = std::any_of(projected.rows.begin(), projected.rows.end(),
                                          [](const projection_row& row) { return row.is_captured; });
    if (has_captured) legend.push_back({"", std::string(captured_legend)});

    report_part out{.name = ranges.out().report};
    out.blocks.emplace_back(answer_block{.step = std::move(step)});
    out.blocks.emplace_back(std::move(ranges.out()));
    out.blocks.emplace_back(std::move(process.out()));
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
