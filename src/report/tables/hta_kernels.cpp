// SPDX-License-Identifier: Apache-2.0
// gpu_kernel_types, gpu_kernel_breakdown and memory_bandwidth.
#include <algorithm>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "analysis/hta/bandwidth.hpp"
#include "analysis/hta/kernel_sums.hpp"
#include "analysis/hta/launches.hpp"
#include "report/makers.hpp"
#include "report/tables/durations.hpp"
#include "report/tables/hta_tables.hpp"

namespace prof {
namespace {

// Which rows of a type HTA calls "others" by default: of more than ten kernels those past the tenth, and those whose
// running sum is above its 80th percentile. `sums`: largest first.
std::vector<bool> hta_others(const std::vector<std::int64_t>& sums) {
    constexpr std::size_t kept = 10;
    constexpr double ratio = 0.8;
    std::vector<bool> out(sums.size());
    if (sums.size() <= kept) return out;
    std::vector<std::int64_t> running;
    running.reserve(sums.size());
    for (const std::int64_t sum : sums) running.push_back(sum + (running.empty() ? 0 : running.back()));
    const double limit = quantile(running, ratio);
    for (std::size_t i = 0; i < sums.size(); ++i) out[i] = i >= kept || static_cast<double>(running[i]) > limit;
    return out;
}

void add_kernels(table& out, const report_input& input, hta_scope scope) {
    const std::vector<kernel_sum> kernels = measure_kernels(hta_input_of(input), scope);
    std::int64_t total_ns = 0;
    for (const kernel_sum& kernel : kernels) total_ns += kernel.sum_ns;
    for (auto first = kernels.begin(); first != kernels.end();) {
        const auto last =
            std::find_if(first, kernels.end(), [&](const kernel_sum& other) { return other.type != first->type; });
        std::vector<std::int64_t> sums;
        for (auto of = first; of != last; ++of) sums.push_back(of->sum_ns);
        const std::vector<bool> others = hta_others(sums);
        for (auto of = first; of != last; ++of) {
            table_row row = scoped_row(input.data, scope);
            row.insert(row.end(), {std::string(to_string(of->type)), of->name});
            add_durations(row, share_of(of->sum_ns, total_ns), summarize(of->durations_ns));
            row.emplace_back(static_cast<bool>(others[static_cast<std::size_t>(of - first)]));
            out.rows.push_back(std::move(row));
        }
        first = last;
    }
}

}  // namespace

table gpu_kernel_types_report(const report_input& input) {
    table out = scoped_table("gpu_kernel_types", "GPU time by the kinds of work that run at once");
    for (table_column column :
         {table_column{"with_memory", "copies count", quantity::flag}, table_column{"kernel_type", "kernels"},
          own_time("sum_ns", "time"), table_column{"share", "%", quantity::share}}) {
        out.columns.push_back(std::move(column));
    }
    const hta_input from = hta_input_of(input);
    for (const hta_scope scope : both_scopes) {
        for (const bool with_memory : {true, false}) {
            const std::vector<kernel_type_time> types = measure_types(from, scope, with_memory);
            std::int64_t total_ns = 0;
            for (const kernel_type_time& type : types) total_ns += type.sum_ns;
            for (const kernel_type_time& type : types) {
                table_row row = scoped_row(input.data, scope);
                row.insert(row.end(), {with_memory, type.types, type.sum_ns, share_of(type.sum_ns, total_ns)});
                out.rows.push_back(std::move(row));
            }
        }
    }
    out.legend = {{"", "copies count: whether copies and sets do (HTA's include_memory_kernels)."}};
    return or_none(std::move(out), "no GPU operation was recorded");
}

table gpu_kernel_breakdown_report(const report_input& input) {
    table out = scoped_table("gpu_kernel_breakdown", "GPU time by kind of work and kernel");
    out.columns.push_back({"kernel_type", "type"});
    out.columns.push_back({"name", "name"});
    add_duration_columns(out.columns);
    out.columns.push_back({"hta_others", "", quantity::flag});
    std::vector<std::size_t> ends;  // of the rows of each scope
    for (const hta_scope scope : both_scopes) {
        add_kernels(out, input, scope);
        ends.push_back(out.rows.size());
    }
    static_assert(both_scopes[0] == hta_scope::all);
    // The same list twice is of no use to people.
    out.shorten = [first = ends.front()](const table& whole, const shown_limits&) {
        const auto end = whole.rows.begin() + static_cast<std::ptrdiff_t>(std::min(first, whole.rows.size()));
        return shown_rows{.rows = {whole.rows.begin(), end}, .sums = whole.sums};
    };
    return or_none(std::move(out), "no GPU operation was recorded");
}

table memory_bandwidth_report(const report_input& input) {
    table out = scoped_table("memory_bandwidth", "Rates of copies and sets, in GB/s");
    out.columns.push_back({"name", "direction"});
    add_description_columns(out, 3);
    out.columns.push_back({"operations", "copies", quantity::count, 2});
    out.columns.push_back({"bytes", "bytes", quantity::bytes, 2});
    out.columns.push_back(own_time("busy_ns", "busy", 1));
    out.columns.push_back({"gigabytes_per_s", "while busy", quantity::number});
    for (const hta_scope scope : both_scopes) {
        for (const direction_bandwidth& of : measure_bandwidth(hta_input_of(input), scope)) {
            table_row row = scoped_row(input.data, scope);
            row.emplace_back(of.name);
            if (of.points.empty()) {
                row.emplace_back(std::uint64_t{0});
                row.insert(row.end(), 7, table_cell{});
            } else {
                add_description(row, of.points.describe());
            }
            row.insert(row.end(), {of.operations, of.bytes, of.busy_ns});
            std::optional<double> rate;
            if (of.busy_ns != 0) rate = static_cast<double>(of.bytes) / static_cast<double>(of.busy_ns);
            row.emplace_back(cell_of(rate));
            out.rows.push_back(std::move(row));
        }
    }
    out.legend = {{"", "count to max: HTA's time series, each change once. while busy: bytes by time."}};
    return or_none(std::move(out), "no copy or set was recorded");
}

}  // namespace prof
