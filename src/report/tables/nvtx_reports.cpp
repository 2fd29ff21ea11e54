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

table nvtx_pushpop_sum(const report_input& input) {
    const timeline& data = input.data;
    std::map<std::string, std::vector<std::int64_t>> durations_ns;
    for (const timeline_range& range : data.ranges) {
        if (range.style != range_style::push_pop || !range.takes_part() || input.hidden.contains(range)) continue;
        durations_ns[nsight_range_name(data, range)].push_back(range.end_ns - range.start_ns);
    }
    return time_summary({"nvtx_pushpop_sum", "NVTX push/pop ranges on the host", {}, {}, {}}, "Instances", "Range",
                        durations_ns, "no push/pop range was recorded");
}

table nvtx_kern_sum(const report_input& input) {
    struct group {
        std::vector<std::int64_t> durations_ns;
        std::uint64_t ranges = 0;
    };
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

    table out{"nvtx_kern_sum", "Kernels by NVTX range", {}, {}, {}};
    note_left_out(out, left_out);
    out.columns = {text_column("NVTX Range"), {"Style", "Style", quantity::text, 6}, id_column("PID", 5),
                   id_column("TID", 2),       count_column("NVTX Inst", 1),          count_column("Kern Inst"),
                   time_column("Total Time")};
    add_time_columns(out.columns);
    out.columns.push_back(text_column("Kernel Name"));
    const table_cell pid = process_cell(data);
    std::vector<std::pair<std::int64_t, std::vector<table_cell>>> rows;
    for (const auto& [key, of] : groups) {
        const auto& [range, style, tid, kernel] = key;
        const std::int64_t total_ns = summarize(of.durations_ns).total_ns;
        std::vector<table_cell> row = {
            range_texts.text(range), nsight_style(style), pid, tid, of.ranges, of.durations_ns.size(), total_ns};
        add_statistics(row, of.durations_ns);
        row.emplace_back(kernel_texts.text(kernel));
        rows.emplace_back(total_ns, std::move(row));
    }
    out.rows = largest_first(std::move(rows));
    // By range, style and thread; of one the largest kernel first.
    std::stable_sort(out.rows.begin(), out.rows.end(), [](const auto& a, const auto& b) {
        return std::tie(a[0].value, a[1].value, a[3].value) < std::tie(b[0].value, b[1].value, b[3].value);
    });
    return or_none(std::move(out), "no kernel was launched in a range");
}

}  // namespace prof
