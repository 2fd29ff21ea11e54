// SPDX-License-Identifier: Apache-2.0
// cuda_kernel_launch_stats, cuda_kernel_launches and queue_length.
#include <algorithm>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "analysis/hta/launches.hpp"
#include "analysis/hta/queue.hpp"
#include "report/makers.hpp"
#include "report/tables/durations.hpp"
#include "report/tables/hta_tables.hpp"

namespace prof {
namespace {

struct launch_summary {
    std::vector<std::int64_t> cpu_ns, gpu_ns, delay_ns;
    std::uint64_t shorter = 0, long_calls = 0, long_delays = 0;
};

// HTA counts a kernel as short only if its call is not a long one.
launch_summary summary_of(const std::vector<launch>& launches, hta_scope scope) {
    launch_summary out;
    for (const launch& of : launches) {
        out.cpu_ns.push_back(of.cpu_ns);
        out.gpu_ns.push_back(of.gpu_ns);
        out.delay_ns.push_back(of.delay_ns);
        const bool is_long = of.cpu_ns > long_call_ns;
        out.shorter += of.is_short() && !(is_long && scope == hta_scope::hta) ? 1 : 0;
        out.long_calls += is_long ? 1 : 0;
        out.long_delays += of.delay_ns > long_delay_ns ? 1 : 0;
    }
    std::sort(out.delay_ns.begin(), out.delay_ns.end());
    return out;
}

class launch_rows {
public:
    explicit launch_rows(const report_input& input)
        : from_(hta_input_of(input)),
          in_hta_(from_, hta_scope::hta),
          kind_of_(from_),
          launches_(find_launches(from_, hta_scope::all, true)) {}

    std::size_t count() const noexcept { return launches_.size(); }

    void for_each(const row_source::visitor& visit) {
        const timeline& data = from_.data;
        for (const launch& of : launches_) {
            const timeline_api_call& call = data.api_calls[of.call];
            const gpu_op& op = data.ops[of.first_op];
            const gpu_place& place = data.place_of(op);
            const traced_launch kind = kind_of_(call);
            const bool is_known = kind == traced_launch::kernel || kind == traced_launch::transfer;
            visit({rank_cell(data), shown_correlation(call.correlation), call.start_ns - data.start_ns,
                   data.threads[call.thread].tid, place.device, place.stream, of.cpu_ns, of.gpu_ns, of.delay_ns,
                   call.op_count, is_known && in_hta_.has(call),
                   from_.call_name ? from_.call_name(call) : std::string{}, from_.op_name(op)});
        }
    }

private:
    hta_input from_;
    scope_rows in_hta_;
    traced_launches kind_of_;
    std::vector<launch> launches_;
};

}  // namespace

table cuda_kernel_launch_stats_report(const report_input& input) {
    table out = scoped_table("cuda_kernel_launch_stats", "Launches: the call, the wait, the work");
    for (table_column column : {table_column{"with_memory", "copies count", quantity::flag},
                                table_column{"launches", "launches", quantity::count},
                                table_column{"short_kernels", "short", quantity::count, 2},
                                table_column{"short_share", "short%", quantity::share},
                                table_column{"long_calls", "calls>50us", quantity::count, 3},
                                table_column{"long_delays", "delays>100us", quantity::count, 3}}) {
        out.columns.push_back(std::move(column));
    }
    for (const std::string what : {"cpu_duration", "gpu_duration"}) {
        const std::string title = what == "cpu_duration" ? "call" : "GPU";
        out.columns.push_back(own_time(what + "_sum_ns", ""));
        out.columns.push_back(own_time(what + "_mean_ns", title + " mean", 1));
        out.columns.push_back(own_time(what + "_median_ns", ""));
        out.columns.push_back(own_time(what + "_max_ns", ""));
    }
    out.columns.push_back(own_time("launch_delay_sum_ns", ""));
    out.columns.push_back(own_time("launch_delay_mean_ns", ""));
    for (const char* const part : {"min", "p25", "median", "p75", "p90", "p99", "max"}) {
        const bool is_shown = part[0] == 'm' || part[2] == '9';
        out.columns.push_back(own_time(std::string("launch_delay_") + part + "_ns",
                                       is_shown ? std::string("wait ") + part : "",
                                       part == std::string_view("median") ? 0 : 2));
    }
    const hta_input from = hta_input_of(input);
    for (const hta_scope scope : both_scopes) {
        for (const bool with_memory : {true, false}) {
            const std::vector<launch> launches = find_launches(from, scope, with_memory);
            if (launches.empty()) continue;
            const launch_summary of = summary_of(launches, scope);
            table_row row = scoped_row(input.data, scope);
            const auto count = static_cast<double>(launches.size());
            row.insert(row.end(), {with_memory, launches.size(), of.shorter, static_cast<double>(of.shorter) / count,
                                   of.long_calls, of.long_delays});
            for (const auto* const values : {&of.cpu_ns, &of.gpu_ns}) {
                const duration_statistics time = summarize(*values);
                row.insert(row.end(), {time.total_ns, time.mean_ns, time.median_ns, time.max_ns});
            }
            const duration_statistics delay = summarize(of.delay_ns);
            row.insert(row.end(), {delay.total_ns, delay.mean_ns});
            for (const double share : {0.0, 0.25, 0.5, 0.75, 0.9, 0.99, 1.0}) {
                row.emplace_back(quantile(of.delay_ns, share));
            }
            out.rows.push_back(std::move(row));
        }
    }
    out.legend = {
        {"", "short: the GPU's work is shorter than the call. wait: from the call's end to the work's start."},
        {"", "all: every call that launched work, a graph's as one. hta: the functions that HTA knows."}};
    return or_none(std::move(out), "no launch whose work was recorded");
}

table cuda_kernel_launches_report(const report_input& input) {
    table out{"cuda_kernel_launches", "Launches one by one", {}, {}, {}};
    out.columns = {{"rank", "", quantity::identity},
                   {"correlation", "correlation", quantity::identity, 3},
                   {"start_ns", "at", quantity::moment_ns},
                   {"tid", "tid", quantity::identity, 2},
                   {"device", "GPU", quantity::identity, 4},
                   {"stream", "stream", quantity::identity, 1},
                   own_time("cpu_duration_ns", "call"),
                   own_time("gpu_duration_ns", "GPU"),
                   own_time("launch_delay_ns", "wait"),
                   {"operations", "ops", quantity::count, 4},
                   {"in_hta", "", quantity::flag},
                   {"call", "function", quantity::text, 2},
                   {"name", "first"}};
    const auto rows = std::make_shared<launch_rows>(input);
    give_rows(out, {rows->count(), [rows](const row_source::visitor& visit) { rows->for_each(visit); }},
              input.may_make_rows_later);
    return or_none(std::move(out), "no launch whose work was recorded");
}

table queue_length_report(const report_input& input) {
    table out = scoped_table("queue_length", "Launched operations that wait in each stream's queue");
    out.columns.push_back({"device", "GPU", quantity::identity, 3});
    out.columns.push_back({"stream", "stream", quantity::identity});
    add_description_columns(out, 2);
    for (table_column column :
         {own_time("span_ns", ""), own_time("empty_ns", ""), table_column{"empty_share", "empty%", quantity::share},
          table_column{"mean_over_time", "mean by time", quantity::number, 1}, own_time("full_ns", ""),
          table_column{"full_share", "full%", quantity::share, 1},
          table_column{"full_share_of_trace", "", quantity::share}}) {
        out.columns.push_back(std::move(column));
    }
    const hta_input from = hta_input_of(input);
    for (const hta_scope scope : both_scopes) {
        const std::int64_t trace_ns = hta_trace_duration(from, scope);
        for (const stream_queue& of : measure_queues(from, scope)) {
            table_row row = scoped_row(input.data, scope);
            row.insert(row.end(), {cell_of(of.device), of.stream});
            add_description(row, of.lengths.describe());
            const double mean_by_time = of.span_ns == 0 ? 0 : of.length_ns / static_cast<double>(of.span_ns);
            row.insert(row.end(), {of.span_ns, of.empty_ns, share_of(of.empty_ns, of.span_ns), mean_by_time, of.full_ns,
                                   share_of(of.full_ns, of.span_ns), share_of(of.full_ns, trace_ns)});
            out.rows.push_back(std::move(row));
        }
    }
    out.legend = {{"", "count to max: after each launch and each start. empty%, mean by time: of the time between."},
                  {"", "full: 1024 or more. hta: the functions that HTA knows, so no graphs."}};
    return or_none(std::move(out), "no launch whose work was recorded");
}

}  // namespace prof
