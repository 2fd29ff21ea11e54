// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <map>
#include <set>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "report/makers.hpp"
#include "report/tables/nsight_columns.hpp"
#include "report/tables/nvtx_projection.hpp"
#include "timeline/launched_ops.hpp"

namespace prof {
namespace {

// Kernels of one name in ranges of one name.
struct kernels_of_range {
    std::vector<std::int64_t> durations_ns{};
    std::uint64_t ranges = 0;
    std::string range{}, style{}, kernel{};
    std::uint32_t tid = 0;
    duration_statistics time{};
};

report_columns<kernels_of_range> kernel_columns(const timeline& data) {
    report_columns<kernels_of_range> out = {
        {text_column("NVTX Range"), &kernels_of_range::range},
        {{"Style", "Style", quantity::text, 6}, &kernels_of_range::style},
        {id_column("PID", 5), [pid = process_cell(data)](const auto&) { return pid; }},
        {id_column("TID", 2), &kernels_of_range::tid},
        {count_column("NVTX Inst", 1), &kernels_of_range::ranges},
        {count_column("Kern Inst"), [](const auto& row) { return row.time.instances; }},
        {time_column("Total Time"), [](const auto& row) { return row.time.total_ns; }}};
    append(out, statistics_columns(&kernels_of_range::time));
    out.push_back({text_column("Kernel Name"), &kernels_of_range::kernel});
    return out;
}

}  // namespace

table nvtx_pushpop_sum(const report_input& input) {
    const timeline& data = input.data;
    std::map<std::string, std::vector<std::int64_t>> durations_ns;
    for (const timeline_range& range : data.ranges) {
        if (range.style != range_style::push_pop || !range.takes_part() || input.hidden.contains(range)) continue;
        durations_ns[nsight_range_name(data, range)].push_back(range.end_ns - range.start_ns);
    }
    return time_summary("nvtx_pushpop_sum", "NVTX push/pop ranges on the host", "Instances", "Range", durations_ns,
                        "no push/pop range was recorded");
}

table nvtx_kern_sum(const report_input& input) {
    using group = kernels_of_range;
    const timeline& data = input.data;
    text_ids range_texts;
    text_ids kernel_texts;
    const auto range_text = [&](const timeline_range& range) {
        return range_texts.of(range.name_key(), [&] { return nsight_range_name(data, range); });
    };
    const auto kernel_text = [&](name_id symbol) {
        return kernel_texts.of(symbol, [&] { return kernel_name(data.name(symbol), input.names); });
    };
    std::map<std::tuple<std::uint32_t, range_style, std::uint32_t, std::uint32_t>, group> groups;
    std::set<std::pair<const group*, std::uint32_t>> counted;  // range instances, by group
    const auto count_kernels = [&](const timeline_api_call& call, std::uint32_t index) {
        const timeline_range& range = data.ranges[index];
        for (const std::uint32_t i : ops_of(data, call)) {
            const gpu_op& op = data.ops[i];
            if (op.kind != op_kind::kernel) continue;
            group& of = groups[{range_text(range), range.style, data.threads[range.thread].tid,
                                kernel_text(name_id(data.kernels[op.detail].name))}];
            if (counted.emplace(&of, index).second) ++of.ranges;
            of.durations_ns.push_back(op.end_ns - op.start_ns);
        }
    };
    const std::uint64_t left_out = for_each_range_around(data, input.hidden, count_kernels);

    std::vector<kernels_of_range> rows;
    for (auto& [key, row] : groups) {
        row.range = range_texts.text(std::get<0>(key));
        row.style = nsight_style(std::get<1>(key));
        row.tid = std::get<2>(key);
        row.kernel = kernel_texts.text(std::get<3>(key));
        row.time = summarize(row.durations_ns);
        rows.push_back(std::move(row));
    }
    rows = largest_first(std::move(rows), [](const kernels_of_range& row) { return row.time.total_ns; });
    // By range, style and thread; of one the largest kernel first.
    std::stable_sort(rows.begin(), rows.end(), [](const kernels_of_range& a, const kernels_of_range& b) {
        return std::tie(a.range, a.style, a.tid) < std::tie(b.range, b.style, b.tid);
    });
    table out = make_table("nvtx_kern_sum", "Kernels by NVTX range", kernel_columns(data), rows);
    note_left_out(out, left_out);
    return or_none(std::move(out), "no kernel was launched in a range");
}

}  // namespace prof
