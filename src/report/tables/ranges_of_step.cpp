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
#include "report/report_column.hpp"
#include "report/tables/projection_notes.hpp"

namespace prof {
namespace {

constexpr std::string_view gpu_projection_name = "gpu-projection";

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

// Nothing where it is 0.
auto if_any(std::int64_t projection_row::*ns) {
    return [ns](const shown_row& row) { return blank_unless(row.figures.*ns != 0, row.figures.*ns); };
}

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

    // They refer to this object. `rows`: those of the table.
    report_columns<shown_row> columns(std::string_view title, const std::vector<projection_row>& rows) const {
        const auto titled = [](bool is_shown, const char* text) { return is_shown ? text : ""; };
        const auto titled_if_any = [&](const char* text, auto figure) {
            return titled(std::any_of(rows.begin(), rows.end(), [&](const auto& row) { return row.*figure != 0; }),
                          text);
        };
        return {
            {{"", std::string(title)}, name},
            {{"", "calls", quantity::mean_count, 3},
             [this](const auto& row) { return blank_unless(is_range(row), of_a_step(row.figures.instances)); }},
            {{"", "CPU", quantity::time_ns},
             [](const auto& row) {
                 return row.figures.is_captured ? table_cell() : blank_unless(is_range(row), row.figures.host_ns);
             }},
            {{"", titled(has_gpu_, "GPU"), quantity::time_ns}, [](const auto& row) { return row.figures.gpu_sum_ns; }},
            {{"", "% of step", quantity::share},
             [this](const auto& row) {
                 const std::int64_t ns = has_gpu_ ? row.figures.gpu_sum_ns : row.figures.host_ns;
                 return static_cast<double>(ns) / std::max(length_ns_, 1.0);
             }},
            {{"", "self", quantity::time_ns, 2},
             [this](const auto& row) { return has_gpu_ ? row.figures.gpu_self_ns : row.figures.host_self_ns; }},
            {{"", titled(has_gpu_, "busy"), quantity::time_ns, 5},
             [](const auto& row) {
                 return blank_unless(row.stands_for == 0 && row.figures.gpu_busy_ns != 0, row.figures.gpu_busy_ns);
             }},
            {{"", titled(has_gpu_, "ops"), quantity::mean_count, 4},
             [this](const auto& row) { return of_a_step(row.figures.ops); }},
            {{"", titled_if_any("adopted", &projection_row::adopted_ops), quantity::share, 1}, adopted_share},
            {{"", titled_if_any("GPU waits", &projection_row::wait_ns), quantity::time_ns, 2},
             if_any(&projection_row::wait_ns)},
            {{"", titled_if_any("comm", &projection_row::communication_ns), quantity::time_ns, 2},
             if_any(&projection_row::communication_ns)},
            {{"", titled_if_any("bytes", &projection_row::payload_bytes), quantity::bytes, 2}, [this](const auto& row) {
                 const auto bytes = static_cast<std::uint64_t>(of_a_step(row.figures.payload_bytes));
                 return blank_unless(row.figures.payload_bytes != 0, bytes);
             }}};
    }

    table made(std::string heading, std::string_view title, const std::vector<projection_row>& rows) const {
        const report_columns<shown_row> all = columns(title, rows);
        table out = make_table(std::string(gpu_projection_name), std::move(heading), all);
        for (const projection_row& row : rows) out.rows.push_back(cells_of(all, {.figures = row}));
        return out;
    }
    shown_row sum() const {
        projection_row all;
        all.path = "all GPU work";
        all.kind = row_kind::no_range;
        all.gpu_sum_ns = all.gpu_self_ns = total_ns_;
        all.ops = whole_.total_ops;
        all.adopted_ops = whole_.adopted_ops;
        return {.figures = all};
    }

    shown_rows ranges(const shown_limits& limits) const {
        const row_limits within{.most = limits.rows, .deepest = limits.deepest};
        std::vector<shown_row> shown = rows_to_show(rows_, within);
        const report_columns<shown_row> all = columns({}, {});
        shown_rows out{.rows = rows_of(all, shown)};
        if (has_gpu_) out.sums.push_back(cells_of(all, sum()));
        if (out.rows.empty()) out.instead = if_none_;
        for (shown_row& row : rows_to_show(process_, within)) shown.push_back(std::move(row));
        out.reading_notes = projection_notes(whole_, shown);
        return out;
    }
    shown_rows start_end(const shown_limits& limits) const {
        return {.rows =
                    rows_of(columns({}, {}), rows_to_show(process_, {.most = limits.rows, .deepest = limits.deepest}))};
    }

private:
    static bool is_range(const shown_row& row) noexcept {
        return row.stands_for != 0 || row.figures.kind == row_kind::range;
    }
    double of_a_step(std::uint64_t count) const noexcept { return static_cast<double>(count) / count_; }
    static table_cell adopted_share(const shown_row& row) {
        const projection_row& figures = row.figures;
        if (figures.ops == 0 || figures.adopted_ops == 0 || row.stands_for != 0) return blank_cell();
        return static_cast<double>(figures.adopted_ops) / static_cast<double>(figures.ops);
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

std::vector<legend_line> legend_of(bool has_gpu, std::uint32_t devices) {
    if (!has_gpu) {
        return {{"CPU", "CPU: time between begin and end, in a step."},
                {"self", "self: without the ranges directly inside, on the same thread."},
                {"GPU waits", "GPU waits: in calls that wait for the GPU, or may."},
                {"bytes", "bytes: as the ranges themselves say."}};
    }
    return {{"CPU", "CPU: time between begin and end, in a step."},
            {"GPU", devices > 1 ? "GPU: durations of the operations launched inside, added; the mean of the GPUs."
                                : "GPU: durations of the operations launched inside, added."},
            {"self", "self: of those launched in no inner range."},
            {"busy", "busy: time with at least one running."},
            {"adopted", "adopted: share of them that another thread launched for the range."},
            {"GPU waits", "GPU waits: CPU time in calls that wait for the GPU, or may."},
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
    struct part_of_run {
        const char* name;
        std::uint64_t steps;
        std::int64_t ns, gpu_ns;
        std::uint64_t ops;
    };
    const bool has_gpu = !data.ops.empty();
    const auto share_of_run = [&](const part_of_run& part) {
        return static_cast<double>(part.ns) / std::max(1.0, static_cast<double>(run->recorded_ns));
    };
    const report_columns<part_of_run> columns = {
        {{"", "part"}, &part_of_run::name},
        {{"", "steps", quantity::count}, [](const auto& part) { return blank_unless(part.steps != 0, part.steps); }},
        {{"", "time", quantity::time_ns}, &part_of_run::ns},
        {{"", "% of run", quantity::share}, share_of_run},
        {{"", has_gpu ? "GPU" : "", quantity::time_ns}, &part_of_run::gpu_ns},
        {{"", has_gpu ? "ops" : "", quantity::count, 1}, &part_of_run::ops}};
    table out = make_table(std::string(gpu_projection_name), "The whole run", columns);
    constexpr double second = 1e9;
    constexpr double in_seconds = 1e10;
    const auto recorded_ns = static_cast<double>(run->recorded_ns);
    out.step_ns = recorded_ns < second ? recorded_ns : in_seconds;
    part_of_run whole{"all", 0, run->recorded_ns, 0, 0};
    const auto add = [&](const char* name, std::uint64_t steps, std::int64_t ns, std::size_t part) {
        whole.gpu_ns += gpu_ns[part];
        whole.ops += op_counts[part];
        if (ns == 0 && op_counts[part] == 0) return;
        out.rows.push_back(cells_of(columns, {name, steps, ns, gpu_ns[part], op_counts[part]}));
    };
    add("start-up", 0, run->startup_ns, parts_of_run::startup);
    add("warm-up", run->warm_up, run->warm_up_ns, parts_of_run::warm_up);
    add("steps", run->steps, run->steps_ns, parts_of_run::counted);
    add("between steps", 0, run->between_ns, parts_of_run::between);
    add("end", 0, run->end_ns, parts_of_run::end);
    out.sums.push_back(cells_of(columns, whole));
    if (has_gpu) out.legend = {{"GPU", "GPU of the run: durations of the operations launched in that part, added."}};
    return out;
}

}  // namespace

report_part ranges_of_step(const mean_step& of, const projected_timeline& shown, const report_input& input,
                           std::string if_none) {
    const auto made =
        std::make_shared<const shown_ranges>(project(of.data(), of.att(), input.projected), of, std::move(if_none));
    table ranges = made->made(made->has_gpu() ? "GPU time of a step, by range" : "CPU time of a step, by range",
                              "range", made->rows());
    of.set_unit(ranges);
    ranges.shorten = [made](const table&, const shown_limits& limits) { return made->ranges(limits); };
    ranges.legend = legend_of(made->has_gpu(), of.devices());
    if (std::any_of(made->rows().begin(), made->rows().end(),
                    [](const projection_row& row) { return row.is_captured; })) {
        ranges.legend.push_back({"", "(captured): open when a CUDA graph was captured; calls: launches of the graph."});
    }
    table process = made->made("Start/end ranges, in a step", "start/end range", made->process_ranges());
    of.set_unit(process);
    process.shows_if_empty = false;
    process.shorten = [made](const table&, const shown_limits& limits) { return made->start_end(limits); };

    report_part out{.name = std::string(gpu_projection_name)};
    out.blocks.emplace_back(std::move(ranges));
    out.blocks.emplace_back(std::move(process));
    if (std::optional<table> run = run_table(of, shown, input)) out.blocks.emplace_back(std::move(*run));
    return out;
}

}  // namespace prof
