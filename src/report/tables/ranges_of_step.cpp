// SPDX-License-Identifier: Apache-2.0
#include "report/tables/ranges_of_step.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <memory>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include "analysis/projection/projection.hpp"
#include "analysis/projection/row_fold.hpp"
#include "analysis/projection/segment.hpp"
#include "analysis/steps/whole_steps.hpp"
#include "base/display_text.hpp"
#include "report/projected_timeline.hpp"
#include "report/tables/projection_notes.hpp"

namespace prof {
namespace {

constexpr std::string_view gpu_projection_name = "gpu-projection";

enum column : std::size_t { range, calls, cpu, gpu, share, self, busy, ops, adopted, waits, between_gpus, bytes };
constexpr std::size_t column_count = bytes + 1;

// Times of the rows of a tree as people see them: children and what is outside of them add up to their parent.
class printed_rows {
public:
    printed_rows(std::vector<projection_row> rows, const mean_step& of) : rows_(std::move(rows)), of_(of) {
        std::vector<std::vector<std::size_t>> below(rows_.size());
        std::vector<std::size_t> outermost;
        for (std::size_t i = 0; i < rows_.size(); ++i) {
            (rows_[i].parent == npos ? outermost : below[rows_[i].parent]).push_back(i);
        }
        for (projection_row& row : rows_) {
            row.host_ns = of_.printed(of_.cpu(static_cast<double>(row.host_ns)));
            row.host_self_ns = of_.printed(of_.cpu(static_cast<double>(row.host_self_ns)));
            row.wait_ns = of_.printed(of_.cpu(static_cast<double>(row.wait_ns)));
            row.communication_ns = of_.printed(of_.gpu(static_cast<double>(row.communication_ns)));
            row.gpu_busy_ns = of_.printed(of_.gpu(static_cast<double>(row.gpu_busy_ns)));
        }
        std::vector<std::int64_t> sums;
        sums.reserve(outermost.size());
        for (const std::size_t i : outermost) sums.push_back(rows_[i].gpu_sum_ns);
        const std::vector<std::int64_t> shown = of_.gpu_parts(sums);
        for (std::size_t i = 0; i < outermost.size(); ++i) {
            total_ns_ += shown[i];
            rows_[outermost[i]].gpu_sum_ns = shown[i];
        }
        for (std::size_t i = 0; i < rows_.size(); ++i) divide(i, below[i]);  // parents come first
    }

    const std::vector<projection_row>& rows() const noexcept { return rows_; }
    std::int64_t total_ns() const noexcept { return total_ns_; }

private:
    void divide(std::size_t row, const std::vector<std::size_t>& below) {
        std::vector<double> shares{static_cast<double>(std::max<std::int64_t>(rows_[row].gpu_self_ns, 0))};
        for (const std::size_t child : below) {
            shares.push_back(static_cast<double>(std::max<std::int64_t>(rows_[child].gpu_sum_ns, 0)));
        }
        const std::vector<std::int64_t> shown = of_.parts(shares, rows_[row].gpu_sum_ns);
        rows_[row].gpu_self_ns = shown.front();
        for (std::size_t i = 0; i < below.size(); ++i) rows_[below[i]].gpu_sum_ns = shown[i + 1];
    }

    std::vector<projection_row> rows_;
    const mean_step& of_;
    std::int64_t total_ns_ = 0;
};

// What people see of it, in rows within limits. Owns all that it needs.
class shown_ranges {
public:
    shown_ranges(projection projected, const mean_step& of, std::string if_none)
        : whole_(std::move(projected)),
          has_gpu_(whole_.total_ops != 0),
          count_(static_cast<double>(of.steps().size())),
          length_ns_(of.length_ns()),
          if_none_(std::move(if_none)) {
        const auto is_news = [this](const projection_row& row) {
            if (row.kind != row_kind::range) return row.ops != 0 || (!has_gpu_ && row.wait_ns != 0);
            return row.instances != 0 || row.ops != 0 || row.host_ns != 0;
        };
        const printed_rows printed(whole_.rows, of);
        total_ns_ = printed.total_ns();
        std::vector<std::uint32_t> places(printed.rows().size(), npos);
        for (std::size_t i = 0; i < printed.rows().size(); ++i) {
            projection_row row = printed.rows()[i];
            if (!is_news(whole_.rows[i])) continue;  // what lies in it has nothing, either
            places[i] = static_cast<std::uint32_t>(rows_.size());
            if (row.parent != npos) row.parent = places[row.parent];
            rows_.push_back(std::move(row));
        }
        process_ = printed_rows(whole_.process_ranges, of).rows();
    }

    bool has_gpu() const noexcept { return has_gpu_; }
    const std::vector<projection_row>& rows() const noexcept { return rows_; }
    const std::vector<projection_row>& process_ranges() const noexcept { return process_; }

    std::vector<table_row> all(const std::vector<projection_row>& rows) const {
        std::vector<table_row> out;
        out.reserve(rows.size());
        for (const projection_row& row : rows) out.push_back(cells({.figures = row}));
        return out;
    }
    table_row sum() const {
        projection_row all;
        all.path = "all GPU work";
        all.kind = row_kind::no_range;
        all.gpu_sum_ns = all.gpu_self_ns = total_ns_;
        all.ops = whole_.total_ops;
        all.adopted_ops = whole_.adopted_ops;
        return cells({.figures = all});
    }

    shown_rows ranges(const shown_limits& limits) const {
        const row_limits within{.most = limits.rows, .deepest = limits.deepest};
        std::vector<shown_row> shown = rows_to_show(rows_, within);
        shown_rows out;
        for (const shown_row& row : shown) out.rows.push_back(cells(row));
        if (has_gpu_) out.sums.push_back(sum());
        if (out.rows.empty()) out.instead = if_none_;
        for (shown_row& row : rows_to_show(process_, within)) shown.push_back(std::move(row));
        out.reading_notes = projection_notes(whole_, shown);
        return out;
    }
    shown_rows start_end(const shown_limits& limits) const {
        shown_rows out;
        for (const shown_row& row : rows_to_show(process_, {.most = limits.rows, .deepest = limits.deepest})) {
            out.rows.push_back(cells(row));
        }
        return out;
    }

private:
    table_row cells(const shown_row& of) const {
        const projection_row& row = of.figures;
        const bool is_sum = of.stands_for != 0;
        const bool is_range = is_sum || row.kind == row_kind::range;
        const auto if_range = [&](auto value) { return is_range ? table_cell(value) : blank_cell(); };
        const auto if_any = [&](auto value) { return value == 0 ? blank_cell() : table_cell(value); };
        table_row out(column_count);
        out[range] = name(of);
        out[calls] = if_range(static_cast<double>(row.instances) / count_);
        out[cpu] = row.is_captured ? table_cell() : if_range(row.host_ns);
        out[gpu] = row.gpu_sum_ns;
        out[share] = static_cast<double>(has_gpu_ ? row.gpu_sum_ns : row.host_ns) / std::max(length_ns_, 1.0);
        out[self] = has_gpu_ ? row.gpu_self_ns : row.host_self_ns;
        out[busy] = is_sum || row.gpu_busy_ns == 0 ? blank_cell() : table_cell(row.gpu_busy_ns);
        out[ops] = static_cast<double>(row.ops) / count_;
        if (row.ops != 0 && row.adopted_ops != 0 && !is_sum) {
            out[adopted] = static_cast<double>(row.adopted_ops) / static_cast<double>(row.ops);
        } else {
            out[adopted] = blank_cell();
        }
        out[waits] = if_any(row.wait_ns);
        out[between_gpus] = if_any(row.communication_ns);
        out[bytes] = row.payload_bytes == 0
                         ? blank_cell()
                         : table_cell(static_cast<std::uint64_t>(static_cast<double>(row.payload_bytes) / count_));
        return out;
    }

    static std::string name(const shown_row& of) {
        const std::string indent(2 * std::size_t{of.figures.depth}, ' ');
        if (of.stands_for != 0) {
            return fmt::format("{}… {} more row{}", indent, with_thousands(of.stands_for),
                               of.stands_for == 1 ? "" : "s");
        }
        return indent + with_captured(shown_segment(of.figures.path), of.figures.is_captured);
    }

    projection whole_;
    bool has_gpu_;
    double count_;
    double length_ns_;
    std::string if_none_;
    std::int64_t total_ns_ = 0;
    std::vector<projection_row> rows_;
    std::vector<projection_row> process_;
};

table empty_table(const shown_ranges& of, const std::vector<projection_row>& rows, std::string_view title,
                  const mean_step& step) {
    const bool has_gpu = of.has_gpu();
    const auto any = [&](auto&& has) { return std::any_of(rows.begin(), rows.end(), has); };
    const auto titled = [](bool is_shown, std::string_view text) { return std::string(is_shown ? text : ""); };
    table out;
    out.report = gpu_projection_name;
    out.columns.resize(column_count);
    out.columns[range] = {"", std::string(title)};
    out.columns[calls] = {"", "calls", quantity::mean_count, 3};
    out.columns[cpu] = {"", "CPU", quantity::time_ns};
    out.columns[gpu] = {"", titled(has_gpu, "GPU"), quantity::time_ns};
    out.columns[share] = {"", "% of step", quantity::share};
    out.columns[self] = {"", "self", quantity::time_ns, 2};
    out.columns[busy] = {"", titled(has_gpu, "busy"), quantity::time_ns, 5};
    out.columns[ops] = {"", titled(has_gpu, "ops"), quantity::mean_count, 4};
    out.columns[adopted] = {"", titled(any([](const projection_row& row) { return row.adopted_ops != 0; }), "adopted"),
                            quantity::share, 1};
    out.columns[waits] = {"", titled(any([](const projection_row& row) { return row.wait_ns != 0; }), "waits"),
                          quantity::time_ns, 2};
    out.columns[between_gpus] = {
        "", titled(any([](const projection_row& row) { return row.communication_ns != 0; }), "comm"), quantity::time_ns,
        2};
    out.columns[bytes] = {"", titled(any([](const projection_row& row) { return row.payload_bytes != 0; }), "bytes"),
                          quantity::bytes, 2};
    step.set_unit(out);
    return out;
}

std::vector<legend_line> legend_of(bool has_gpu, std::uint32_t devices) {
    if (!has_gpu) {
        return {{"CPU", "CPU: time between begin and end, in a step."},
                {"self", "self: without the ranges directly inside, on the same thread."},
                {"waits", "waits: in calls that wait for the GPU."},
                {"bytes", "bytes: as the ranges themselves say."}};
    }
    return {{"CPU", "CPU: time between begin and end, in a step."},
            {"GPU", devices > 1 ? "GPU: durations of the operations launched inside, added; the mean of the GPUs."
                                : "GPU: durations of the operations launched inside, added."},
            {"self", "self: of those launched in no inner range."},
            {"busy", "busy: time with at least one running."},
            {"adopted", "adopted: share of them that another thread launched for the range."},
            {"waits", "waits: CPU time in calls that wait for the GPU."},
            {"comm", "comm: of GPU, NCCL's kernels."},
            {"bytes", "bytes: as the ranges themselves say."}};
}

// To which part of the run a moment of the host belongs. Steps are those that count, and all others.
class parts_of_run {
public:
    enum part : std::size_t { startup, warm_up, counted, between, end, count };

    parts_of_run(const std::vector<whole_step>& all, const std::vector<whole_step>& counted_steps)
        : all_(all), counted_(counted_steps) {}

    part at(std::int64_t ns) const noexcept {
        if (lies_in(counted_, ns)) return counted;
        const std::int64_t first_ns =
            all_.empty() ? counted_.front().start_ns : std::min(all_.front().start_ns, counted_.front().start_ns);
        if (ns < first_ns) return startup;
        if (ns < counted_.front().start_ns && lies_in(all_, ns)) return warm_up;
        const std::int64_t last_ns =
            all_.empty() ? counted_.back().end_ns : std::max(all_.back().end_ns, counted_.back().end_ns);
        return ns < last_ns ? between : end;
    }

private:
    static bool lies_in(const std::vector<whole_step>& steps, std::int64_t ns) noexcept {
        const auto after = std::upper_bound(steps.begin(), steps.end(), ns,
                                            [](std::int64_t at, const whole_step& step) { return at < step.start_ns; });
        return after != steps.begin() && ns < std::prev(after)->end_ns;
    }

    const std::vector<whole_step>& all_;
    const std::vector<whole_step>& counted_;
};

// All that was recorded, and all GPU work, by part of the run.
std::optional<table> run_table(const mean_step& of, const projected_timeline& shown, const report_input& input) {
    const std::optional<run_parts> run = run_parts_of(shown, input);
    if (!run || input.selected != nullptr) return {};
    const timeline& data = of.part().whole();
    const std::vector<whole_step> all =
        find_whole_steps(data, of.part().whole_att(), !of.part().step_function().empty()).steps;
    const parts_of_run parts(all, of.steps());
    std::array<std::int64_t, parts_of_run::count> gpu_ns{};
    std::array<std::uint64_t, parts_of_run::count> op_counts{};
    for (const gpu_op& op : data.ops) {
        const auto part = parts.at(op.launch == npos ? op.start_ns : data.api_calls[op.launch].start_ns);
        gpu_ns[part] += op.end_ns - op.start_ns;
        ++op_counts[part];
    }
    table out;
    out.report = gpu_projection_name;
    out.heading = "The whole run";
    const bool has_gpu = !data.ops.empty();
    out.columns = {{"", "part"},
                   {"", "steps", quantity::count},
                   {"", "time", quantity::time_ns},
                   {"", "% of run", quantity::share},
                   {"", has_gpu ? "GPU" : "", quantity::time_ns},
                   {"", has_gpu ? "ops" : "", quantity::count, 1}};
    constexpr double second = 1e9;
    constexpr double in_seconds = 1e10;
    const auto recorded_ns = static_cast<double>(run->recorded_ns);
    out.step_ns = recorded_ns < second ? recorded_ns : in_seconds;
    const auto add = [&](std::string name, std::uint64_t steps, std::int64_t ns, std::size_t part) {
        if (ns == 0 && op_counts[part] == 0) return;
        out.rows.push_back({std::move(name), steps == 0 ? blank_cell() : table_cell(steps), ns,
                            static_cast<double>(ns) / std::max(1.0, static_cast<double>(run->recorded_ns)),
                            gpu_ns[part], op_counts[part]});
    };
    add("start-up", 0, run->startup_ns, parts_of_run::startup);
    add("warm-up", run->warm_up, run->warm_up_ns, parts_of_run::warm_up);
    add("steps", run->steps, run->steps_ns, parts_of_run::counted);
    add("between steps", 0, run->between_ns, parts_of_run::between);
    add("end", 0, run->end_ns, parts_of_run::end);
    std::int64_t all_ns = 0;
    std::uint64_t all_ops = 0;
    for (std::size_t part = 0; part < parts_of_run::count; ++part) {
        all_ns += gpu_ns[part];
        all_ops += op_counts[part];
    }
    out.sums.push_back({std::string("all"), blank_cell(), run->recorded_ns, 1.0, all_ns, all_ops});
    if (has_gpu) out.legend = {{"GPU", "GPU of the run: durations of the operations launched in that part, added."}};
    return out;
}

}  // namespace

report_part ranges_of_step(const mean_step& of, const projected_timeline& shown, const report_input& input,
                           std::string if_none) {
    const auto made =
        std::make_shared<const shown_ranges>(project(of.data(), of.att(), input.projected), of, std::move(if_none));
    table ranges = empty_table(*made, made->rows(), "range", of);
    ranges.heading = made->has_gpu() ? "GPU time of a step, by range" : "CPU time of a step, by range";
    ranges.rows = made->all(made->rows());
    ranges.shorten = [made](const table&, const shown_limits& limits) { return made->ranges(limits); };
    ranges.legend = legend_of(made->has_gpu(), of.devices());
    if (std::any_of(made->rows().begin(), made->rows().end(),
                    [](const projection_row& row) { return row.is_captured; })) {
        ranges.legend.push_back({"", "(captured): open when a CUDA graph was captured; calls: launches of the graph."});
    }
    table process = empty_table(*made, made->process_ranges(), "start/end range", of);
    process.heading = "Start/end ranges, in a step";
    process.rows = made->all(made->process_ranges());
    process.shows_if_empty = false;
    process.shorten = [made](const table&, const shown_limits& limits) { return made->start_end(limits); };

    report_part out{.name = std::string(gpu_projection_name)};
    out.blocks.emplace_back(std::move(ranges));
    out.blocks.emplace_back(std::move(process));
    if (std::optional<table> run = run_table(of, shown, input)) out.blocks.emplace_back(std::move(*run));
    return out;
}

}  // namespace prof
