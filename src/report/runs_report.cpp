// SPDX-License-Identifier: Apache-2.0
#include "report/runs_report.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/apportioned.hpp"
#include "compare/group_test.hpp"
#include "compare/mean.hpp"
#include "report/report_column.hpp"

namespace prof {
namespace {

std::string spread_text(double share) { return fmt::format("{:.2g} %", 100 * share); }

text_block spread_block(const std::vector<compared_run>& runs) {
    std::vector<double> lengths;
    std::vector<double> logs;
    for (const compared_run& run : runs) {
        lengths.push_back(run.step_ns);
        logs.push_back(std::log(run.step_ns));
    }
    const double mean_ns = mean_of(lengths);
    const unit_of_time unit = unit_of_step(mean_ns);
    text_block out;
    out.paragraphs.push_back(fmt::format("{}: {:.3f} {} ({} run{})", runs.front().steps != 0 ? "step" : "recording",
                                         mean_ns / unit.ns, unit.name, runs.size(), runs.size() == 1 ? "" : "s"));
    if (runs.size() < 2) return out;
    const double spread = spread_of_group(logs);
    std::string line = fmt::format("runs spread by {} (standard deviation)", spread_text(std::expm1(spread)));
    if (const std::optional<double> seen = least_visible_difference(spread, runs.size()); seen && spread > 0) {
        line += fmt::format(": beside as many runs like these a change of {} would be seen in 4 of 5 cases",
                            spread_text(std::expm1(*seen)));
    }
    out.paragraphs.push_back(std::move(line));
    return out;
}

struct numbered_run {
    const compared_run& run;
    std::uint64_t number;  // on its side

    std::string_view side() const noexcept { return run.is_new ? "new" : "base"; }
};

report_columns<numbered_run> run_columns(std::span<const compared_run> runs, bool are_two_groups) {
    const bool has_memory =
        std::any_of(runs.begin(), runs.end(), [](const compared_run& run) { return run.peak_bytes > 0; });
    const auto time = [](double compared_run::*ns) {
        return [ns](const numbered_run& row) { return std::int64_t{std::llround(row.run.*ns)}; };
    };
    const auto limit = [](double interval::*ns) {
        return [ns](const numbered_run& row) {
            return row.run.at ? table_cell(std::int64_t{std::llround((*row.run.at).*ns)}) : table_cell();
        };
    };
    const auto peak = [](const numbered_run& row) {
        const double bytes = row.run.peak_bytes;
        return none_unless(bytes > 0, static_cast<std::uint64_t>(std::llround(bytes)));
    };
    report_columns<numbered_run> out = {
        {{.key = "run", .title = "run", .holds = quantity::identity, .is_key = true}, &numbered_run::number},
        {{"steps", "steps", quantity::count},
         [](const auto& row) { return none_unless(row.run.steps != 0, row.run.steps); }},
        {{"step_ns", "step", quantity::time_ns}, time(&compared_run::step_ns)},
        {{"low_ns", "from", quantity::time_ns, 2}, limit(&interval::low)},
        {{"high_ns", "to", quantity::time_ns, 2}, limit(&interval::high)},
        {{"gpu_sum_ns", "GPU time", quantity::time_ns, 1}, time(&compared_run::gpu_sum_ns)},
        {{"gpu_busy_ns", "GPU busy", quantity::time_ns, 3}, time(&compared_run::gpu_busy_ns)},
        {{"peak_bytes", has_memory ? "memory peak" : "", quantity::bytes, 2}, peak},
        {{"capture", "capture", quantity::text, 4}, [](const auto& row) { return row.run.file; }}};
    if (are_two_groups) {
        out.insert(out.begin(), {{.key = "side", .title = "side", .is_key = true}, &numbered_run::side});
    }
    return out;
}

}  // namespace

table runs_table(const std::string& report, std::span<const compared_run> runs, bool are_two_groups) {
    std::vector<numbered_run> rows;
    double longest_ns = 0;
    for (const compared_run& run : runs) {
        const bool is_first = rows.empty() || rows.back().run.is_new != run.is_new;
        rows.push_back({run, is_first ? 1 : rows.back().number + 1});
        longest_ns = std::max(longest_ns, run.step_ns);
    }
    table out = make_table(report, "Runs", run_columns(runs, are_two_groups), rows);
    out.step_ns = longest_ns;
    out.legend = {{"from", "from, to: the interval of 95 % of the mean of the run's own steps."}};
    return out;
}

report_document runs_document(const std::vector<run_profile>& runs, const std::string& title,
                              const std::vector<std::string>& warnings) {
    const std::vector<compared_run> figures = figures_of_runs(runs, false);
    report_document out;
    out.capture.title = title;
    for (const run_profile& run : runs) {
        out.capture.members.insert(out.capture.members.end(), run.files.begin(), run.files.end());
    }
    out.capture.warnings = warnings;
    report_part part{.name = "runs", .is_of_job = true};
    part.blocks.emplace_back(spread_block(figures));
    part.blocks.emplace_back(runs_table("runs", figures, false));
    out.parts.push_back(std::move(part));
    return out;
}

}  // namespace prof
