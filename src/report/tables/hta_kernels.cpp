// SPDX-License-Identifier: Apache-2.0
// gpu_kernel_types, gpu_kernel_breakdown and memory_bandwidth.
#include <algorithm>
#include <cstddef>
#include <cstdint>
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

// A kernel's time among that of all kernels of its scope.
struct kernel_share {
    hta_scope scope;
    kernel_type type;
    std::string name;
    double share;
    duration_statistics time;
    bool is_other;
};

std::vector<kernel_share> kernels_of(const report_input& input, hta_scope scope) {
    const std::vector<kernel_sum> kernels = measure_kernels(hta_input_of(input), scope);
    std::int64_t total_ns = 0;
    for (const kernel_sum& kernel : kernels) total_ns += kernel.sum_ns;
    std::vector<kernel_share> out;
    for (auto first = kernels.begin(); first != kernels.end();) {
        const auto last =
            std::find_if(first, kernels.end(), [&](const kernel_sum& other) { return other.type != first->type; });
        std::vector<std::int64_t> sums;
        for (auto kernel = first; kernel != last; ++kernel) sums.push_back(kernel->sum_ns);
        const std::vector<bool> others = hta_others(sums);
        for (auto kernel = first; kernel != last; ++kernel) {
            out.push_back({scope, kernel->type, kernel->name, share_of(kernel->sum_ns, total_ns),
                           summarize(kernel->durations_ns), others[static_cast<std::size_t>(kernel - first)]});
        }
        first = last;
    }
    return out;
}

struct type_share {
    hta_scope scope;
    bool with_memory;
    std::string types;
    std::int64_t sum_ns, total_ns;
};

struct transfer_rate : direction_bandwidth {
    hta_scope scope;
    description rates;  // of its points
};

}  // namespace

table gpu_kernel_types_report(const report_input& input) {
    using row = type_share;
    report_columns<row> columns = scope_columns<row>(input.data);
    append(columns, {{{"with_memory", "copies count", quantity::flag}, &row::with_memory},
                     {{"kernel_type", "kernels"}, &row::types},
                     {{"sum_ns", "time", quantity::time_ns}, &row::sum_ns},
                     {{"share", "%", quantity::share}, share_of(&row::sum_ns, &row::total_ns)}});
    const hta_input from = hta_input_of(input);
    std::vector<row> rows;
    for (const hta_scope scope : both_scopes) {
        for (const bool with_memory : {true, false}) {
            const std::vector<kernel_type_time> types = measure_types(from, scope, with_memory);
            std::int64_t total_ns = 0;
            for (const kernel_type_time& type : types) total_ns += type.sum_ns;
            for (const kernel_type_time& type : types) {
                rows.push_back({scope, with_memory, type.types, type.sum_ns, total_ns});
            }
        }
    }
    table out = make_table("gpu_kernel_types", "GPU time by the kinds of work that run at once", columns, rows);
    out.legend = {{"", "copies count: whether copies and sets do (HTA's include_memory_kernels)."}};
    return or_none(std::move(out), "no GPU operation was recorded");
}

table gpu_kernel_breakdown_report(const report_input& input) {
    using row = kernel_share;
    report_columns<row> columns = scope_columns<row>(input.data);
    append(columns, {{{"kernel_type", "type"}, [](const row& kernel) { return to_string(kernel.type); }},
                     {{"name", "name"}, &row::name}});
    append(columns, duration_columns(&row::share, &row::time));
    columns.push_back({{"hta_others", "", quantity::flag}, &row::is_other});
    std::vector<row> rows = kernels_of(input, hta_scope::all);
    const std::size_t count = rows.size();
    for (row& kernel : kernels_of(input, hta_scope::hta)) rows.push_back(std::move(kernel));
    table out = make_table("gpu_kernel_breakdown", "GPU time by kind of work and kernel", columns, rows);
    // The same list twice is of no use to people.
    out.shorten = [count](const table& whole, const shown_limits&) {
        const auto end = whole.rows.begin() + static_cast<std::ptrdiff_t>(std::min(count, whole.rows.size()));
        return shown_rows{.rows = {whole.rows.begin(), end}, .sums = whole.sums};
    };
    return or_none(std::move(out), "no GPU operation was recorded");
}

table memory_bandwidth_report(const report_input& input) {
    using row = transfer_rate;
    report_columns<row> columns = scope_columns<row>(input.data);
    columns.push_back({{"name", "direction"}, &row::name});
    append(columns, description_columns(&row::rates, 3));
    append(columns, {{{"operations", "copies", quantity::count, 2}, &row::operations},
                     {{"bytes", "bytes", quantity::bytes, 2}, &row::bytes},
                     {{"busy_ns", "busy", quantity::time_ns, 1}, &row::busy_ns},
                     {{"gigabytes_per_s", "while busy", quantity::number}, [](const row& direction) {
                          return none_unless(direction.busy_ns != 0, static_cast<double>(direction.bytes) /
                                                                         static_cast<double>(direction.busy_ns));
                      }}});
    std::vector<row> rows;
    for (const hta_scope scope : both_scopes) {
        for (const direction_bandwidth& direction : measure_bandwidth(hta_input_of(input), scope)) {
            rows.push_back({direction, scope, direction.points.empty() ? description() : direction.points.describe()});
        }
    }
    table out = make_table("memory_bandwidth", "Rates of copies and sets, in GB/s", columns, rows);
    out.legend = {{"", "count to max: HTA's time series, each change once. while busy: bytes by time."}};
    return or_none(std::move(out), "no copy or set was recorded");
}

}  // namespace prof
