#include "analysis/process_ranges.hpp"

#include <algorithm>
#include <map>
#include <string>
#include <utility>

#include "analysis/op_class.hpp"
#include "analysis/segment.hpp"
#include "analysis/statistics.hpp"

namespace prof {
namespace {

// Calls visit(op index) for the operations launched in [from_ns, to_ns).
template <typename TVisit>
void for_each_op_launched(const timeline& data, std::int64_t from_ns, std::int64_t to_ns, TVisit&& visit) {
    auto call = std::lower_bound(data.api_calls.begin(), data.api_calls.end(), from_ns,
                                 [](const timeline_api_call& c, std::int64_t t) { return c.start_ns < t; });
    for (; call != data.api_calls.end() && call->start_ns < to_ns; ++call) {
        for (std::uint32_t i = 0; i < call->op_count; ++i) visit(data.ops_by_launch[call->first_op + i]);
    }
}

// `ranges` are the row's instances, by start.
projection_row make_row(const timeline& data, std::string name, const std::vector<std::uint32_t>& ranges) {
    projection_row row;
    row.path = escape_segment(name);
    row.name = std::move(name);
    row.instances = ranges.size();

    std::vector<std::int64_t> sums_ns;
    std::vector<std::uint32_t> row_ops;
    std::int64_t covered_until_ns = INT64_MIN;
    for (const std::uint32_t index : ranges) {
        const timeline_range& range = data.ranges[index];
        row.host_ns += range.end_ns - range.start_ns;
        if (range.payload_kind == payload_type::bytes) row.payload_bytes += range.payload;
        std::int64_t sum_ns = 0;
        std::int64_t first_ns = INT64_MAX;
        std::int64_t last_ns = INT64_MIN;
        for_each_op_launched(data, range.start_ns, range.end_ns, [&](std::uint32_t i) {
            const gpu_op& op = data.ops[i];
            sum_ns += op.end_ns - op.start_ns;
            first_ns = std::min(first_ns, op.start_ns);
            last_ns = std::max(last_ns, op.end_ns);
            if (data.api_calls[op.launch].start_ns >= covered_until_ns) row_ops.push_back(i);
        });
        if (first_ns < last_ns) row.gpu_span_ns += last_ns - first_ns;
        sums_ns.push_back(sum_ns);
        covered_until_ns = std::max(covered_until_ns, range.end_ns);
    }

    std::sort(row_ops.begin(), row_ops.end(), [&](std::uint32_t a, std::uint32_t b) {
        return data.ops[a].device != data.ops[b].device ? data.ops[a].device < data.ops[b].device : a < b;
    });
    busy_time busy;
    op_classifier class_of(data);
    for (const std::uint32_t i : row_ops) {
        const gpu_op& op = data.ops[i];
        row.gpu_sum_ns += op.end_ns - op.start_ns;
        if (class_of(op) == op_class::communication) row.communication_ns += op.end_ns - op.start_ns;
        busy.add(op.device, op.start_ns, op.end_ns);
    }
    row.ops = row_ops.size();
    row.gpu_busy_ns = busy.total_ns();
    set_instance_statistics(row, sums_ns);
    return row;
}

}  // namespace

std::vector<projection_row> project_process_ranges(const timeline& data, const hidden_domains& hidden,
                                                   bool fold_digits) {
    std::vector<std::string> names;  // by first start
    std::map<std::string, std::vector<std::uint32_t>> instances;
    for (std::uint32_t i = 0; i < data.ranges.size(); ++i) {
        if (data.ranges[i].style != range_style::start_end || hidden.contains(data.ranges[i])) continue;
        std::string name = segment_text(data, data.ranges[i], fold_digits);
        std::vector<std::uint32_t>& ranges = instances[name];
        if (ranges.empty()) names.push_back(std::move(name));
        ranges.push_back(i);
    }
    std::vector<projection_row> rows;
    for (std::string& name : names) {
        const std::vector<std::uint32_t>& ranges = instances[name];
        rows.push_back(make_row(data, std::move(name), ranges));
    }
    return rows;
}

void set_instance_statistics(projection_row& row, const std::vector<std::int64_t>& sums_ns) {
    if (sums_ns.empty()) return;
    const auto [smallest, largest] = std::minmax_element(sums_ns.begin(), sums_ns.end());
    row.instance_min_ns = *smallest;
    row.instance_max_ns = *largest;
    row.instance_median_ns = median(sums_ns);
    row.instance_stddev_ns = sample_stddev(sums_ns);
}

}  // namespace prof
