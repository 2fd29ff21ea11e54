// SPDX-License-Identifier: Apache-2.0
#include "report/tables/nvtx_projection.hpp"

#include <algorithm>
#include <map>
#include <memory>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

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

namespace {

// Ranges of one name and style.
struct projected_ranges {
    std::string name, style;
    std::vector<std::int64_t> durations_ns{};
    duration_statistics projected{};  // of these
    std::int64_t range_ns = 0;
    std::uint64_t ops = 0, levels = 0, children = 0;
};

report_columns<projected_ranges> sum_columns() {
    const auto mean = [](std::uint64_t projected_ranges::*sum) {
        return [sum](const projected_ranges& row) {
            return static_cast<double>(row.*sum) / static_cast<double>(row.projected.instances);
        };
    };
    report_columns<projected_ranges> out = {
        {text_column("Range"), &projected_ranges::name},
        {{"Style", "Style", quantity::text, 6}, &projected_ranges::style},
        {time_column("Total Proj Time"), [](const auto& row) { return row.projected.total_ns; }},
        {time_column("Total Range Time"), &projected_ranges::range_ns},
        {count_column("Range Instances"), [](const auto& row) { return row.projected.instances; }}};
    append(out, statistics_columns(&projected_ranges::projected, "Proj ", 1));
    append(out, {{count_column("Total GPU Ops", 1), &projected_ranges::ops},
                 {mean_column("Avg GPU Ops", 5), mean(&projected_ranges::ops)},
                 {mean_column("Avg Range Lvl", 5), mean(&projected_ranges::levels)},
                 {mean_column("Avg Num Child", 6), mean(&projected_ranges::children)}});
    return out;
}

// The ranges one by one, by start.
class projection_trace {
public:
    projection_trace(const timeline& data, std::vector<range_projection> ranges)
        : data_(data), ranges_(std::move(ranges)), parent_(data.ranges.size(), npos) {
        for (const range_projection& projected : ranges_) parent_[projected.range] = projected.parent;
        std::stable_sort(ranges_.begin(), ranges_.end(),
                         [](const range_projection& a, const range_projection& b) { return a.start_ns < b.start_ns; });
    }

    const std::vector<range_projection>& ranges() const noexcept { return ranges_; }

    // They refer to this object.
    report_columns<range_projection> columns() const {
        const std::int64_t base_ns = earliest_moment(data_);
        return {
            {text_column("Name"), [this](const auto& row) { return nsight_range_name(data_, range(row)); }},
            {{"Projected Start (ns)", "Projected Start", quantity::moment_ns, 0, 1},
             [base_ns](const auto& row) { return row.start_ns - base_ns; }},
            {time_column("Projected Duration"), [](const auto& row) { return row.end_ns - row.start_ns; }},
            {{"Orig Start (ns)", "Orig Start", quantity::moment_ns, 1, 1},
             [=, this](const auto& row) { return range(row).start_ns - base_ns; }},
            {time_column("Orig Duration", 1),
             [this](const auto& row) { return range(row).end_ns - range(row).start_ns; }},
            {{"Style", "Style", quantity::text, 3}, [this](const auto& row) { return nsight_style(range(row).style); }},
            {id_column("PID", 4), [pid = process_cell(data_)](const auto&) { return pid; }},
            {id_column("TID", 2), [this](const auto& row) { return data_.threads[range(row).thread].tid; }},
            {count_column("NumGPUOps"), &range_projection::ops},
            {count_column("Lvl", 1), &range_projection::level},
            {count_column("NumChild", 2), &range_projection::children},
            {id_column("RangeId", 2), [](const auto& row) { return id(row.range); }},
            {id_column("ParentId", 2), [](const auto& row) { return none_unless(row.parent != npos, id(row.parent)); }},
            {{"RangeStack", "RangeStack", quantity::text, 5}, [this](const auto& row) { return stack(row.range); }}};
    }

private:
    // The number of a range in the trace.
    static std::uint64_t id(std::uint32_t range) noexcept { return std::uint64_t{range} + 1; }
    const timeline_range& range(const range_projection& row) const { return data_.ranges[row.range]; }
    std::string stack(std::uint32_t range) const {
        std::string out;
        for (; range != npos; range = parent_[range]) out.insert(0, ':' + std::to_string(id(range)));
        return out;
    }

    const timeline& data_;
    std::vector<range_projection> ranges_;
    std::vector<std::uint32_t> parent_;  // by range
};

}  // namespace

table nvtx_gpu_proj_sum(const report_input& input) {
    const timeline& data = input.data;
    std::map<std::pair<std::string, std::string>, projected_ranges> groups;  // by name and style
    const range_projections projections = project_ranges(data, input.hidden);
    for (const range_projection& projected : projections.ranges) {
        const timeline_range& range = data.ranges[projected.range];
        projected_ranges& sum = groups[{nsight_range_name(data, range), nsight_style(range.style)}];
        sum.durations_ns.push_back(projected.end_ns - projected.start_ns);
        sum.range_ns += range.end_ns - range.start_ns;
        sum.ops += projected.ops;
        sum.levels += projected.level;
        sum.children += projected.children;
    }
    std::vector<projected_ranges> rows;
    for (auto& [key, sum] : groups) {
        std::tie(sum.name, sum.style) = key;
        sum.projected = summarize(sum.durations_ns);
        rows.push_back(std::move(sum));
    }
    rows = largest_first(std::move(rows), [](const projected_ranges& row) { return row.projected.total_ns; });
    table out = make_table("nvtx_gpu_proj_sum", "NVTX ranges projected on the GPU", sum_columns(), rows);
    note_left_out(out, projections.left_out);
    return or_none(std::move(out), "no GPU work was launched in a range");
}

table nvtx_gpu_proj_trace(const report_input& input) {
    range_projections projections = project_ranges(input.data, input.hidden);
    const auto trace = std::make_shared<const projection_trace>(input.data, std::move(projections.ranges));
    table out = make_table("nvtx_gpu_proj_trace", "NVTX ranges projected on the GPU, one by one", trace->columns());
    note_left_out(out, projections.left_out);
    const auto for_each_range = [trace](const auto& visit) {
        for (const range_projection& row : trace->ranges()) visit(row);
    };
    give_rows(out, trace->columns(), trace->ranges().size(), for_each_range, input.may_make_rows_later);
    return or_none(std::move(out), "no GPU work was launched in a range");
}

}  // namespace prof
