// SPDX-License-Identifier: Apache-2.0
// cuda_kernel_launch_stats, cuda_kernel_launches and queue_length.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <tuple>
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
    hta_scope scope;
    bool with_memory;
    std::uint64_t count = 0, shorter = 0, long_calls = 0, long_delays = 0;
    duration_statistics cpu{}, gpu{}, delay{};
    std::vector<std::int64_t> delays_ns{};  // sorted
};

// HTA counts a kernel as short only if its call is not a long one.
launch_summary summary_of(const std::vector<launch>& launches, hta_scope scope, bool with_memory) {
    launch_summary out{.scope = scope, .with_memory = with_memory, .count = launches.size()};
    std::vector<std::int64_t> cpu_ns, gpu_ns;
    for (const launch& one : launches) {
        cpu_ns.push_back(one.cpu_ns);
        gpu_ns.push_back(one.gpu_ns);
        out.delays_ns.push_back(one.delay_ns);
        const bool is_long = one.cpu_ns > long_call_ns;
        out.shorter += one.is_short() && !(is_long && scope == hta_scope::hta) ? 1 : 0;
        out.long_calls += is_long ? 1 : 0;
        out.long_delays += one.delay_ns > long_delay_ns ? 1 : 0;
    }
    std::sort(out.delays_ns.begin(), out.delays_ns.end());
    out.cpu = summarize(cpu_ns);
    out.gpu = summarize(gpu_ns);
    out.delay = summarize(out.delays_ns);
    return out;
}

report_columns<launch_summary> summary_columns(const timeline& data) {
    using row = launch_summary;
    const auto time = [](std::string key, std::string title, auto member, auto figure, int importance = 0) {
        return report_column<row>{{std::move(key), std::move(title), quantity::time_ns, importance},
                                  [=](const row& launches) { return launches.*member.*figure; }};
    };
    const auto share = [](const row& launches) {
        return static_cast<double>(launches.shorter) / static_cast<double>(launches.count);
    };
    report_columns<row> out = scope_columns<row>(data);
    append(out, {{{"with_memory", "copies count", quantity::flag}, &row::with_memory},
                 {{"launches", "launches", quantity::count}, &row::count},
                 {{"short_kernels", "short", quantity::count, 2}, &row::shorter},
                 {{"short_share", "short%", quantity::share}, share},
                 {{"long_calls", "calls>50us", quantity::count, 3}, &row::long_calls},
                 {{"long_delays", "delays>100us", quantity::count, 3}, &row::long_delays}});
    for (const auto& [key, title, member] :
         {std::tuple("cpu_duration_", "call mean", &row::cpu), std::tuple("gpu_duration_", "GPU mean", &row::gpu)}) {
        const std::string begin = key;
        append(out, {time(begin + "sum_ns", "", member, &duration_statistics::total_ns),
                     time(begin + "mean_ns", title, member, &duration_statistics::mean_ns, 1),
                     time(begin + "median_ns", "", member, &duration_statistics::median_ns),
                     time(begin + "max_ns", "", member, &duration_statistics::max_ns)});
    }
    append(out, {time("launch_delay_sum_ns", "", &row::delay, &duration_statistics::total_ns),
                 time("launch_delay_mean_ns", "", &row::delay, &duration_statistics::mean_ns)});
    for (const auto& [part, title, below, importance] :
         {std::tuple("min", "wait min", 0.0, 2), std::tuple("p25", "", 0.25, 2),
          std::tuple("median", "wait median", 0.5, 0), std::tuple("p75", "", 0.75, 2), std::tuple("p90", "", 0.9, 2),
          std::tuple("p99", "wait p99", 0.99, 2), std::tuple("max", "wait max", 1.0, 2)}) {
        out.push_back({{std::string("launch_delay_") + part + "_ns", title, quantity::time_ns, importance},
                       [below = below](const row& launches) { return quantile(launches.delays_ns, below); }});
    }
    return out;
}

struct launched {
    const launch& times;
    const timeline_api_call& call;
    const gpu_op& op;
    const gpu_place& place;
    bool is_in_hta;
};

class launch_list {
public:
    explicit launch_list(const report_input& input)
        : from_(hta_input_of(input)),
          in_hta_(from_, hta_scope::hta),
          kind_of_(from_),
          launches_(find_launches(from_, hta_scope::all, true)) {}

    const hta_input& from() const noexcept { return from_; }
    std::size_t count() const noexcept { return launches_.size(); }

    // visit(const launched&)
    template <typename TVisit>
    void for_each(TVisit&& visit) {
        const timeline& data = from_.data;
        for (const launch& times : launches_) {
            const timeline_api_call& call = data.api_calls[times.call];
            const gpu_op& op = data.ops[times.first_op];
            const traced_launch kind = kind_of_(call);
            const bool is_known = kind == traced_launch::kernel || kind == traced_launch::transfer;
            visit(launched{times, call, op, data.place_of(op), is_known && in_hta_.has(call)});
        }
    }

private:
    hta_input from_;
    scope_rows in_hta_;
    traced_launches kind_of_;
    std::vector<launch> launches_;
};

// `from` is in use as long as the columns are.
report_columns<launched> launch_columns(const hta_input& from) {
    const timeline& data = from.data;
    return {
        {{"rank", "", quantity::identity}, [rank = rank_cell(data)](const auto&) { return rank; }},
        {{"correlation", "correlation", quantity::identity, 3},
         [](const auto& row) { return shown_correlation(row.call.correlation); }},
        {{"start_ns", "at", quantity::moment_ns}, [&](const auto& row) { return row.call.start_ns - data.start_ns; }},
        {{"tid", "tid", quantity::identity, 2}, [&](const auto& row) { return data.threads[row.call.thread].tid; }},
        {{"device", "GPU", quantity::identity, 4}, [](const auto& row) { return row.place.device; }},
        {{"stream", "stream", quantity::identity, 1}, [](const auto& row) { return row.place.stream; }},
        {{"cpu_duration_ns", "call", quantity::time_ns}, [](const auto& row) { return row.times.cpu_ns; }},
        {{"gpu_duration_ns", "GPU", quantity::time_ns}, [](const auto& row) { return row.times.gpu_ns; }},
        {{"launch_delay_ns", "wait", quantity::time_ns}, [](const auto& row) { return row.times.delay_ns; }},
        {{"operations", "ops", quantity::count, 4}, [](const auto& row) { return row.call.op_count; }},
        {{"in_hta", "", quantity::flag}, &launched::is_in_hta},
        {{"call", "function", quantity::text, 2},
         [&](const auto& row) { return from.call_name ? from.call_name(row.call) : std::string(); }},
        {{"name", "first"}, [&](const auto& row) { return from.op_name(row.op); }}};
}

struct queue_of_stream : stream_queue {
    hta_scope scope;
    description described;  // its lengths
    std::int64_t trace_ns;
};

}  // namespace

table cuda_kernel_launch_stats_report(const report_input& input) {
    const hta_input from = hta_input_of(input);
    std::vector<launch_summary> rows;
    for (const hta_scope scope : both_scopes) {
        for (const bool with_memory : {true, false}) {
            const std::vector<launch> launches = find_launches(from, scope, with_memory);
            if (!launches.empty()) rows.push_back(summary_of(launches, scope, with_memory));
        }
    }
    table out = make_table("cuda_kernel_launch_stats", "Launches: the call, the wait, the work",
                           summary_columns(input.data), rows);
    out.legend = {
        {"", "short: the GPU's work is shorter than the call. wait: from the call's end to the work's start."},
        {"", "all: every call that launched work, a graph's as one. hta: the functions that HTA knows."}};
    return or_none(std::move(out), "no launch whose work was recorded");
}

table cuda_kernel_launches_report(const report_input& input) {
    const auto launches = std::make_shared<launch_list>(input);
    report_columns<launched> columns = launch_columns(launches->from());
    table out = make_table("cuda_kernel_launches", "Launches one by one", columns);
    give_rows(
        out, std::move(columns), launches->count(), [launches](const auto& visit) { launches->for_each(visit); },
        input.may_make_rows_later);
    return or_none(std::move(out), "no launch whose work was recorded");
}

table queue_length_report(const report_input& input) {
    using row = queue_of_stream;
    report_columns<row> columns = scope_columns<row>(input.data);
    append(columns, {{{"device", "GPU", quantity::identity, 3}, &row::device},
                     {{"stream", "stream", quantity::identity}, &row::stream}});
    append(columns, description_columns(&row::described, 2));
    append(columns, {{{"span_ns", "", quantity::time_ns}, &row::span_ns},
                     {{"empty_ns", "", quantity::time_ns}, &row::empty_ns},
                     {{"empty_share", "empty%", quantity::share}, share_of(&row::empty_ns, &row::span_ns)},
                     {{"mean_over_time", "mean by time", quantity::number, 1},
                      [](const row& queue) {
                          return queue.span_ns == 0 ? 0.0 : queue.length_ns / static_cast<double>(queue.span_ns);
                      }},
                     {{"full_ns", "", quantity::time_ns}, &row::full_ns},
                     {{"full_share", "full%", quantity::share, 1}, share_of(&row::full_ns, &row::span_ns)},
                     {{"full_share_of_trace", "", quantity::share}, share_of(&row::full_ns, &row::trace_ns)}});
    const hta_input from = hta_input_of(input);
    std::vector<row> rows;
    for (const hta_scope scope : both_scopes) {
        const std::int64_t trace_ns = hta_trace_duration(from, scope);
        for (const stream_queue& queue : measure_queues(from, scope)) {
            rows.push_back({queue, scope, queue.lengths.describe(), trace_ns});
        }
    }
    table out = make_table("queue_length", "Launched operations that wait in each stream's queue", columns, rows);
    out.legend = {{"", "count to max: after each launch and each start. empty%, mean by time: of the time between."},
                  {"", "full: 1024 or more. hta: the functions that HTA knows, so no graphs."}};
    return or_none(std::move(out), "no launch whose work was recorded");
}

}  // namespace prof
