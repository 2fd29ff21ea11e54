// SPDX-License-Identifier: Apache-2.0
#include "report/tables/nvtx_projection.hpp"

#include <algorithm>
#include <map>
#include <memory>
#include <string>
#include <utility>

#include "analysis/steps/capture_start.hpp"
#include "report/makers.hpp"
#include "report/tables/nsight_columns.hpp"
#include "timeline/launched_ops.hpp"

namespace prof {
namespace {

// Per range: the innermost that was open on its thread when it was pushed, whomever the thread worked for then.
std::vector<std::uint32_t> parents_on_thread(const timeline& data) {
    std::vector<std::uint32_t> parents(data.ranges.size(), npos);
    // A range's first node is that of its push.
    for (std::size_t i = data.open_nodes.size(); i-- > 0;) {
        const std::uint32_t below = data.open_nodes[i].below_on_thread();
        parents[data.open_nodes[i].range] = below == npos ? npos : data.open_nodes[below].range;
    }
    return parents;
}

// The innermost range that was open when `index` was pushed and is not closed before it.
std::uint32_t range_around(const timeline& data, const std::vector<std::uint32_t>& parents,
                           const hidden_domains& hidden, std::uint32_t index) {
    std::uint32_t above = parents[index];
    while (above != npos &&
           (hidden.contains(data.ranges[above]) || data.ranges[above].end_ns < data.ranges[index].end_ns)) {
        above = parents[above];
    }
    return above;
}

}  // namespace

void note_left_out(table& out, std::uint64_t ranges) {
    if (ranges == 0) return;
    out.notes.push_back(std::to_string(ranges) +
                        " start/end ranges were left out: more than 1024 were open at a time on their thread");
}

range_projections project_ranges(const timeline& data, const hidden_domains& hidden) {
    range_projections out;
    std::vector<range_projection>& of = out.ranges;
    of.resize(data.ranges.size());
    out.left_out = for_each_range_around(data, hidden, [&](const timeline_api_call& call, std::uint32_t range) {
        range_projection& projected = of[range];
        for (const std::uint32_t i : ops_of(data, call)) {
            const gpu_op& op = data.ops[i];
            projected.start_ns = projected.ops == 0 ? op.start_ns : std::min(projected.start_ns, op.start_ns);
            projected.end_ns = std::max(projected.end_ns, op.end_ns);
            ++projected.ops;
        }
    });
    const std::vector<std::uint32_t> parents = parents_on_thread(data);
    // A parent stands before its children, and has their operations.
    for (std::uint32_t i = 0; i < of.size(); ++i) {
        of[i].range = i;
        if (of[i].ops == 0 || data.ranges[i].style != range_style::push_pop) continue;
        of[i].parent = range_around(data, parents, hidden, i);
        if (of[i].parent == npos) continue;
        of[i].level = of[of[i].parent].level + 1;
        ++of[of[i].parent].children;
    }
    std::erase_if(of, [](const range_projection& projected) { return projected.ops == 0; });
    return out;
}

table nvtx_gpu_proj_sum(const report_input& input) {
    struct group {
        std::vector<std::int64_t> projected_ns;
        std::int64_t range_ns = 0;
        std::uint64_t ops = 0;
        std::uint64_t levels = 0;
        std::uint64_t children = 0;
    };
    const timeline& data = input.data;
    std::map<std::pair<std::string, std::string>, group> groups;  // by name and style
    const range_projections projections = project_ranges(data, input.hidden);
    for (const range_projection& projected : projections.ranges) {
        const timeline_range& range = data.ranges[projected.range];
        group& of = groups[{nsight_range_name(data, range), nsight_style(range.style)}];
        of.projected_ns.push_back(projected.end_ns - projected.start_ns);
        of.range_ns += range.end_ns - range.start_ns;
        of.ops += projected.ops;
        of.levels += projected.level;
        of.children += projected.children;
    }

    table out{"nvtx_gpu_proj_sum", "NVTX ranges projected on the GPU", {}, {}, {}};
    out.columns = {text_column("Range"),
                   {"Style", "Style", quantity::text, 6},
                   time_column("Total Proj Time"),
                   time_column("Total Range Time"),
                   count_column("Range Instances")};
    add_time_columns(out.columns, "Proj ", 1);
    out.columns.push_back(count_column("Total GPU Ops", 1));
    out.columns.push_back(mean_column("Avg GPU Ops", 5));
    out.columns.push_back(mean_column("Avg Range Lvl", 5));
    out.columns.push_back(mean_column("Avg Num Child", 6));
    std::vector<std::pair<std::int64_t, std::vector<table_cell>>> rows;
    for (const auto& [key, of] : groups) {
        const std::size_t count = of.projected_ns.size();
        const auto mean_of = [&](std::uint64_t sum) { return static_cast<double>(sum) / static_cast<double>(count); };
        const std::int64_t total_ns = summarize(of.projected_ns).total_ns;
        std::vector<table_cell> row = {key.first, key.second, total_ns, of.range_ns, count};
        add_statistics(row, of.projected_ns);
        row.emplace_back(of.ops);
        for (const std::uint64_t sum : {of.ops, of.levels, of.children}) row.emplace_back(mean_of(sum));
        rows.emplace_back(total_ns, std::move(row));
    }
    out.rows = largest_first(std::move(rows));
    note_left_out(out, projections.left_out);
    return or_none(std::move(out), "no GPU work was launched in a range");
}

table nvtx_gpu_proj_trace(const report_input& input) {
    const timeline& data = input.data;
    table out{"nvtx_gpu_proj_trace", "NVTX ranges projected on the GPU, one by one", {}, {}, {}};
    out.columns = {text_column("Name"),
                   {"Projected Start (ns)", "Projected Start", quantity::moment_ns, 0, 1},
                   time_column("Projected Duration"),
                   {"Orig Start (ns)", "Orig Start", quantity::moment_ns, 1, 1},
                   time_column("Orig Duration", 1),
                   {"Style", "Style", quantity::text, 3},
                   id_column("PID", 4),
                   id_column("TID", 2),
                   count_column("NumGPUOps"),
                   count_column("Lvl", 1),
                   count_column("NumChild", 2),
                   id_column("RangeId", 2),
                   id_column("ParentId", 2),
                   {"RangeStack", "RangeStack", quantity::text, 5}};
    range_projections projections = project_ranges(data, input.hidden);
    note_left_out(out, projections.left_out);
    const auto listed = std::make_shared<std::vector<range_projection>>(std::move(projections.ranges));
    std::vector<range_projection>& ranges = *listed;
    std::vector<std::uint32_t> parent(data.ranges.size(), npos);
    for (const range_projection& projected : ranges) parent[projected.range] = projected.parent;
    std::stable_sort(ranges.begin(), ranges.end(),
                     [](const range_projection& a, const range_projection& b) { return a.start_ns < b.start_ns; });

    // The number of a range in the trace.
    const auto id = [](std::uint32_t range) { return std::uint64_t{range} + 1; };
    const std::int64_t base_ns = earliest_moment(data);
    const table_cell pid = process_cell(data);
    const auto row_of = [&data, parent = std::move(parent), id, base_ns, pid](const range_projection& projected) {
        const timeline_range& range = data.ranges[projected.range];
        std::string stack;
        for (std::uint32_t at = projected.range; at != npos; at = parent[at]) {
            stack.insert(0, ':' + std::to_string(id(at)));
        }
        return table_row{nsight_range_name(data, range),
                         projected.start_ns - base_ns,
                         projected.end_ns - projected.start_ns,
                         range.start_ns - base_ns,
                         range.end_ns - range.start_ns,
                         nsight_style(range.style),
                         pid,
                         data.threads[range.thread].tid,
                         projected.ops,
                         projected.level,
                         projected.children,
                         id(projected.range),
                         projected.parent == npos ? table_cell{} : id(projected.parent),
                         std::move(stack)};
    };
    give_rows(out,
              {listed->size(),
               [listed, row_of](const row_source::visitor& visit) {
                   for (const range_projection& projected : *listed) visit(row_of(projected));
               }},
              input.may_make_rows_later);
    return or_none(std::move(out), "no GPU work was launched in a range");
}

}  // namespace prof
