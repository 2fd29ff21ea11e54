#include "export/report/report_text.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <iterator>
#include <optional>
#include <string_view>
#include <variant>

#include "analysis/projection/segment.hpp"
#include "analysis/projection/xla_phases.hpp"
#include "analysis/reports/capture_notes.hpp"
#include "analysis/reports/reports.hpp"
#include "analysis/reports/step_estimate.hpp"
#include "analysis/steps/captured_steps.hpp"
#include "base/json_text.hpp"
#include "export/report/text_table.hpp"

namespace prof {
namespace {

double share_of(double part, double whole) { return whole == 0 ? 0 : part / whole; }

std::string bytes_text(std::uint64_t bytes) {
    constexpr std::array<std::string_view, 5> units = {"B", "kB", "MB", "GB", "TB"};
    auto value = static_cast<double>(bytes);
    std::size_t unit = 0;
    for (; value >= 1000 && unit + 1 < units.size(); ++unit) value /= 1000;
    return unit == 0 ? fmt::format("{} B", bytes) : fmt::format("{:.2f} {}", value, units[unit]);
}

std::int64_t largest_time(const std::vector<projection_row>& rows) {
    std::int64_t largest = 0;
    for (const projection_row& row : rows) largest = std::max({largest, row.host_ns, row.gpu_sum_ns, row.gpu_span_ns});
    return largest;
}

// Columns that most programs have no use for: they are there if a row has something to say in them.
struct extra_columns {
    bool wait = false;
    bool communication = false;
    bool bytes = false;

    explicit extra_columns(const std::vector<projection_row>& rows) {
        for (const projection_row& row : rows) {
            wait = wait || row.wait_ns != 0;
            communication = communication || row.communication_ns != 0;
            bytes = bytes || row.payload_bytes != 0;
        }
    }
};

constexpr std::string_view ellipsis = "… ";  // how a row that stands for others begins

std::string name_cell(const projection_row& row) {
    std::string shown = terminal_safe(with_captured(shown_segment(row.path), row.is_captured));
    if (shown.starts_with(ellipsis)) shown.insert(0, 1, '\\');
    return std::string(2 * std::size_t{row.depth}, ' ') + shown;
}

std::vector<std::string> range_cells(const projection_row& row, const time_unit& unit, std::int64_t total_gpu_ns,
                                     const extra_columns& extra) {
    const bool has_instances = row.kind == row_kind::range;
    const auto count = static_cast<double>(std::max<std::uint64_t>(row.instances, 1));
    const auto time = [&](auto ns) { return unit.format(static_cast<double>(ns)); };
    const auto if_range = [&](std::string text) { return has_instances ? std::move(text) : std::string(); };
    const auto if_host = [&](std::string text) {
        return row.is_captured ? std::string("-") : if_range(std::move(text));
    };
    std::vector<std::string> cells = {
        name_cell(row),
        if_range(with_thousands(row.instances)),
        if_host(time(row.host_ns)),
        time(row.gpu_sum_ns),
        percent(share_of(static_cast<double>(row.gpu_sum_ns), static_cast<double>(total_gpu_ns))),
        time(row.gpu_self_ns),
        if_host(time(static_cast<double>(row.host_ns) / count)),
        if_range(time(static_cast<double>(row.gpu_sum_ns) / count)),
        time(row.gpu_busy_ns),
        if_range(time(row.gpu_span_ns)),
        with_thousands(row.ops),
        row.adopted_ops == 0 ? std::string("-")
                             : percent(share_of(static_cast<double>(row.adopted_ops), static_cast<double>(row.ops))),
        if_range(time(row.instance_min_ns)),
        if_range(time(row.instance_median_ns)),
        if_range(time(row.instance_max_ns)),
        if_range(time(row.instance_stddev_ns)),
    };
    if (extra.wait) cells.push_back(time(row.wait_ns));
    if (extra.communication) cells.push_back(time(row.communication_ns));
    if (extra.bytes) cells.push_back(row.payload_bytes == 0 ? std::string() : bytes_text(row.payload_bytes));
    return cells;
}

constexpr std::size_t columns_without_extra = 16;  // of range_columns

// Only what adds up has a cell.
std::vector<std::string> fold_cells(const shown_row& fold, const time_unit& unit, std::int64_t total_gpu_ns,
                                    const extra_columns& extra) {
    const projection_row& sums = fold.figures;
    const auto time = [&](std::int64_t ns) { return unit.format(static_cast<double>(ns)); };
    std::vector<std::string> cells = {
        fmt::format("{}{}{} more row{}", std::string(2 * std::size_t{sums.depth}, ' '), ellipsis,
                    with_thousands(fold.stands_for), fold.stands_for == 1 ? "" : "s"),
        with_thousands(sums.instances),
        time(sums.host_ns),
        time(sums.gpu_sum_ns),
        percent(share_of(static_cast<double>(sums.gpu_sum_ns), static_cast<double>(total_gpu_ns))),
        time(sums.gpu_self_ns),
        "",
        "",
        "",
        "",
        with_thousands(sums.ops)};
    cells.resize(columns_without_extra);
    if (extra.wait) cells.push_back(time(sums.wait_ns));
    if (extra.communication) cells.push_back(time(sums.communication_ns));
    if (extra.bytes) cells.push_back(sums.payload_bytes == 0 ? std::string() : bytes_text(sums.payload_bytes));
    return cells;
}

row_limits limits_of(const text_layout& layout) noexcept { return {.most = layout.rows, .deepest = layout.deepest}; }

void add_rows(text_table& table, const std::vector<projection_row>& rows, const text_layout& layout,
              const time_unit& unit, std::int64_t total_gpu_ns) {
    const extra_columns extra(rows);
    for (const shown_row& shown : rows_to_show(rows, limits_of(layout))) {
        table.add_row(shown.stands_for == 0 ? range_cells(shown.figures, unit, total_gpu_ns, extra)
                                            : fold_cells(shown, unit, total_gpu_ns, extra));
    }
}

std::vector<text_table::column> range_columns(std::string_view first_title, const extra_columns& extra) {
    std::vector<text_table::column> columns = {{std::string(first_title), 0, true},
                                               {"count", 0},
                                               {"host", 0},
                                               {"GPU", 0},
                                               {"GPU %", 0},
                                               {"self", 2},
                                               {"host/each", 4},
                                               {"GPU/each", 4},
                                               {"busy", 5},
                                               {"span", 6},
                                               {"ops", 3},
                                               {"adopted", 1},
                                               {"min", 8},
                                               {"median", 7},
                                               {"max", 8},
                                               {"stddev", 9}};
    if (extra.wait) columns.push_back({"wait", 2});
    if (extra.communication) columns.push_back({"comm", 2});
    if (extra.bytes) columns.push_back({"bytes", 2});
    return columns;
}

constexpr std::string_view range_legend =
    "host: time between begin and end. GPU: durations of the operations launched\n"
    "inside, added. self: of those launched in no inner range. busy: time with at\n"
    "least one running. span: first start to last end. adopted: share of them that\n"
    "another thread launched for the range. min to stddev: GPU, of one instance.\n"
    "wait: host time in calls that wait for the GPU. comm: of GPU, NCCL's kernels.\n"
    "bytes: as the ranges themselves say.\n";

constexpr std::string_view captured_legend =
    "(captured): open when a CUDA graph was captured; count: in launches of the graph.\n";

bool is_time(const table_column& column) noexcept {
    return column.holds == quantity::time_ns || column.holds == quantity::moment_ns;
}

// A number; 0 for what is none.
double number_in(const table_cell& cell) {
    if (const auto* const real = std::get_if<double>(&cell.value)) return *real;
    if (const auto* const whole = std::get_if<std::int64_t>(&cell.value)) return static_cast<double>(*whole);
    if (const auto* const whole = std::get_if<std::uint64_t>(&cell.value)) return static_cast<double>(*whole);
    return 0;
}

std::uint64_t whole_in(const table_cell& cell) {
    if (const auto* const whole = std::get_if<std::uint64_t>(&cell.value)) return *whole;
    const auto* const whole = std::get_if<std::int64_t>(&cell.value);
    return whole == nullptr || *whole < 0 ? 0 : static_cast<std::uint64_t>(*whole);
}

time_unit unit_of(const table& of) {
    double largest_ns = 0;
    for (const auto& row : of.rows) {
        for (std::size_t i = 0; i < row.size(); ++i) {
            if (is_time(of.columns[i])) largest_ns = std::max(largest_ns, number_in(row[i]));
        }
    }
    return time_unit::for_largest(static_cast<std::int64_t>(std::min(largest_ns, 1e18)));
}

std::string cell_text(const table_column& column, const table_cell& cell, const time_unit& unit) {
    if (std::holds_alternative<std::monostate>(cell.value)) return "-";
    if (const auto* const text = std::get_if<std::string>(&cell.value)) return terminal_safe(*text);
    const double number = number_in(cell);
    switch (column.holds) {
        case quantity::time_ns:
        case quantity::moment_ns:
            return unit.format(number);
        case quantity::share:
            return percent(number);
        case quantity::percent:
            return percent(number / 100);
        case quantity::count:
            return with_thousands(whole_in(cell));
        case quantity::bytes:
            return bytes_text(whole_in(cell));
        case quantity::identity:
            return fmt::format("{:.0f}", number);
        case quantity::number:
        case quantity::text:
            break;
    }
    return fmt::format("{:.{}f}", number, column.decimals < 0 ? 2 : column.decimals);
}

std::string process_ranges_text(const projection& projected, const text_layout& layout) {
    const time_unit unit = time_unit::for_largest(largest_time(projected.process_ranges));
    const extra_columns extra(projected.process_ranges);
    text_table table(range_columns("start/end range", extra));
    add_rows(table, projected.process_ranges, layout, unit, projected.total_gpu_ns);
    return fmt::format("\nStart/end ranges, in {}: operations launched between start and end by whatever thread\n\n{}",
                       unit.name, table.render(layout.width));
}

// Of as many rows as the table of ranges may have, those with the most GPU time a step.
step_estimate with_largest_rows(step_estimate of, const text_layout& layout) {
    std::vector<weighed_row> weighed;
    std::vector<std::uint32_t> above;
    for (std::uint32_t i = 0; i < of.rows.size(); ++i) {
        while (!above.empty() && of.rows[above.back()].depth >= of.rows[i].depth) above.pop_back();
        weighed.push_back({.parent = above.empty() ? npos : above.back(),
                           .gpu_ns = std::llround(std::clamp(of.rows[i].gpu_ns.mean, -1e18, 1e18)),
                           .is_fixed = of.rows[i].kind != row_kind::range});
        above.push_back(i);
    }
    const std::vector<std::uint8_t> kept = choose_rows(weighed, layout.rows);
    std::vector<step_estimate_row> rows;
    for (std::size_t i = 0; i < kept.size(); ++i) {
        if (kept[i] != 0) rows.push_back(std::move(of.rows[i]));
    }
    of.rows_left_out = of.rows.size() - rows.size();
    of.rows = std::move(rows);
    return of;
}

}  // namespace

std::string title_text(const timeline& data, const text_layout& layout) {
    std::string out = terminal_safe(capture_title(data)) + '\n';
    if (const std::string& command = data.property("command"); !command.empty()) {
        out += shortened("$ " + terminal_safe(command), layout.width) + '\n';
    }
    if (const std::string windows = windows_line(data); !windows.empty()) out += windows + '\n';
    return out;
}

std::string projection_text(const projection& projected, const text_layout& layout) {
    const time_unit unit = time_unit::for_largest(std::max(largest_time(projected.rows), projected.total_gpu_ns));
    std::string out = fmt::format("GPU time by range, in {}\n\n", unit.name);
    const extra_columns extra(projected.rows);
    text_table table(range_columns("range", extra));
    add_rows(table, projected.rows, layout, unit, projected.total_gpu_ns);
    table.add_rule();
    projection_row total;
    total.path = "all GPU work";
    total.kind = row_kind::no_range;
    total.gpu_sum_ns = total.gpu_self_ns = projected.total_gpu_ns;
    total.gpu_busy_ns = projected.total_busy_ns;
    total.ops = projected.total_ops;
    total.adopted_ops = projected.adopted_ops;
    total.communication_ns = projected.communication_ns;
    total.wait_ns = projected.wait_ns;
    table.add_row(range_cells(total, unit, projected.total_gpu_ns, extra));
    out += table.render(layout.width);
    if (!projected.process_ranges.empty()) out += process_ranges_text(projected, layout);
    if (layout.legend) {
        out.append("\n").append(range_legend);
        const bool has_captured = std::any_of(projected.rows.begin(), projected.rows.end(),
                                              [](const projection_row& row) { return row.is_captured; });
        if (has_captured) out += captured_legend;
    }
    return out;
}

std::string table_text(const table& of, const text_layout& layout) {
    const time_unit unit = unit_of(of);
    std::vector<text_table::column> columns;
    for (const table_column& column : of.columns) {
        if (!column.title.empty()) columns.push_back({column.title, column.importance, column.holds == quantity::text});
    }
    text_table shown(std::move(columns));
    for (const auto& row : of.rows) {
        std::vector<std::string> cells;
        for (std::size_t i = 0; i < row.size(); ++i) {
            if (!of.columns[i].title.empty()) cells.push_back(cell_text(of.columns[i], row[i], unit));
        }
        shown.add_row(std::move(cells));
    }
    const bool has_times = std::any_of(of.columns.begin(), of.columns.end(), is_time);
    std::string out = fmt::format("{}{}\n\n{}", of.heading, has_times ? fmt::format(", in {}", unit.name) : "",
                                  shown.render(layout.width));
    for (const std::string& note : of.notes) out += "\nnote: " + note + '\n';
    if (layout.legend && !of.legend.empty()) out += '\n' + of.legend;
    return out;
}

// Folding may have put different things into one row.
std::string merged_names_note(const projection& projected, const std::vector<shown_row>& shown) {
    constexpr std::size_t most_shown = 3;
    constexpr std::size_t longest_name = 40;
    std::string rows;
    std::size_t named = 0;
    std::size_t count = 0;
    for (const auto* const list : {&projected.rows, &projected.process_ranges}) {
        count += static_cast<std::size_t>(
            std::count_if(list->begin(), list->end(), [](const projection_row& row) { return row.merged_names != 0; }));
    }
    for (const shown_row& row : shown) {
        if (row.figures.merged_names == 0 || named == most_shown) continue;
        ++named;
        const std::string name = shortened(terminal_safe(shown_segment(row.figures.path)), longest_name);
        rows += fmt::format("{}{} ({})", rows.empty() ? "" : ", ", name, row.figures.merged_names);
    }
    if (count == 0) return {};
    if (named == 0) {
        rows = fmt::format("{} that {} left out above", with_thousands(count), count == 1 ? "is" : "are");
    } else if (count > named) {
        rows += fmt::format(" and {} more", with_thousands(count - named));
    }
    return fmt::format("note: few names of many instances each are one row: {}; --no-fold keeps names apart\n", rows);
}

std::string folded_rows_note(const std::vector<shown_row>& shown) {
    std::uint64_t count = 0;
    for (const shown_row& row : shown) count += row.stands_for;
    if (count == 0) return {};
    return fmt::format(
        "note: {} rows with less GPU time are left out, and \"… more rows\" have their sums; --rows all "
        "shows them\n",
        with_thousands(count));
}

std::string projection_notes(const projection& projected, const text_layout& layout) {
    std::vector<shown_row> shown = rows_to_show(projected.rows, limits_of(layout));
    std::ranges::move(rows_to_show(projected.process_ranges, limits_of(layout)), std::back_inserter(shown));
    std::string out = folded_rows_note(shown) + merged_names_note(projected, shown);
    for (const projection_row& row : projected.rows) {
        if (row.ops == 0 || row.depth != 0) continue;
        if (row.kind == row_kind::ambiguous) {
            out += fmt::format("note: {} operations could be the work of several threads and stand under (ambiguous)\n",
                               with_thousands(row.ops));
        } else if (row.kind == row_kind::unmatched) {
            out += fmt::format("note: of {} operations no launch was seen; they stand under (unmatched)\n",
                               with_thousands(row.ops));
        }
    }
    if (projected.ops_of_unseen_captures != 0) {
        out += fmt::format("note: {} operations of graph replays whose capture was not seen\n",
                           with_thousands(projected.ops_of_unseen_captures));
    }
    if (projected.ops_of_ambiguous_captures != 0) {
        out += fmt::format(
            "note: {} operations of graph replays were captured by a thread that may have worked for "
            "several\n",
            with_thousands(projected.ops_of_ambiguous_captures));
    }
    return out;
}

std::string capture_notes_text(const timeline& data) {
    std::string out;
    if (const std::string drops = drops_line(data); !drops.empty()) out += "note: " + terminal_safe(drops) + '\n';
    for (const std::string& note : capture_notes(data)) out += "note: " + terminal_safe(note) + '\n';
    return out;
}

std::string summary_text(const timeline& data, const attribution& att, const projection_options& options,
                         const text_layout& layout) {
    const shown_timeline shown{data, options};
    std::optional<attribution> changed;
    if (shown.is_changed()) changed = attribute(shown.data(), options.attribution);
    const attribution& used = changed ? *changed : att;
    const projection projected = project(shown.data(), used, options);
    std::string out = title_text(data, layout) + '\n';
    if (const auto steps = measure_steps(shown.data(), used, shown.step_function())) {
        out += step_text(*steps, layout) + '\n';
    }
    out += projection_text(projected, layout);
    if (has_part_of_steps(data)) {
        out +=
            '\n' +
            table_text(steps_table(with_largest_rows(estimate_steps(shown.data(), used, options.fold_digits), layout)),
                       layout);
    }
    if (!data.property("modules").empty()) {
        out += '\n' + table_text(modules_report({.data = data, .projected = options, .rows = layout.rows}), layout);
    }
    const std::string notes = capture_notes_text(data) + projection_notes(projected, layout);
    if (!notes.empty()) out.append("\n").append(notes);
    return out;
}

}  // namespace prof
