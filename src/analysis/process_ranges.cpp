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

// What was launched in a stretch of time, whose ends are looked up: a program may forget to end a range, and then each
// of them covers all that follows.
class launched_work {
public:
    explicit launched_work(const timeline& data) : data_(data), count_(data.api_calls.size()), tree_(2 * count_) {
        for (std::size_t i = 0; i < count_; ++i) tree_[count_ + i] = of_call(data.api_calls[i]);
        for (std::size_t i = count_; i-- > 1;) tree_[i] = both(tree_[2 * i], tree_[2 * i + 1]);
    }

    struct work {
        std::int64_t sum_ns = 0;
        std::int64_t first_ns = INT64_MAX;
        std::int64_t last_ns = INT64_MIN;
    };

    // The first call that began at `time_ns` or later, as an index.
    std::size_t first_since(std::int64_t time_ns) const {
        const auto found = std::lower_bound(data_.api_calls.begin(), data_.api_calls.end(), time_ns,
                                            [](const timeline_api_call& c, std::int64_t t) { return c.start_ns < t; });
        return static_cast<std::size_t>(found - data_.api_calls.begin());
    }
    // Of the calls [first, last).
    work between(std::size_t first, std::size_t last) const {
        work out;
        for (first += count_, last += count_; first < last; first /= 2, last /= 2) {
            if (first % 2 != 0) out = both(out, tree_[first++]);
            if (last % 2 != 0) out = both(out, tree_[--last]);
        }
        return out;
    }

private:
    work of_call(const timeline_api_call& call) const {
        work out;
        for (std::uint32_t i = 0; i < call.op_count; ++i) {
            const gpu_op& op = data_.ops[data_.ops_by_launch[call.first_op + i]];
            out = both(out, {op.end_ns - op.start_ns, op.start_ns, op.end_ns});
        }
        return out;
    }
    static work both(const work& a, const work& b) {
        return {a.sum_ns + b.sum_ns, std::min(a.first_ns, b.first_ns), std::max(a.last_ns, b.last_ns)};
    }

    const timeline& data_;
    std::size_t count_;
    std::vector<work> tree_;  // the calls are its leaves, and stand in its second half
};

// `ranges` are the row's instances, by start.
projection_row make_row(const timeline& data, const launched_work& launched, std::string name,
                        const std::vector<std::uint32_t>& ranges) {
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
        const std::size_t end = launched.first_since(range.end_ns);
        const launched_work::work gpu = launched.between(launched.first_since(range.start_ns), end);
        if (gpu.first_ns < gpu.last_ns) row.gpu_span_ns += gpu.last_ns - gpu.first_ns;
        sums_ns.push_back(gpu.sum_ns);
        for (std::size_t call = launched.first_since(std::max(range.start_ns, covered_until_ns)); call < end; ++call) {
            const auto ops = data.ops_by_launch.begin() + data.api_calls[call].first_op;
            row_ops.insert(row_ops.end(), ops, ops + data.api_calls[call].op_count);
        }
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
    if (names.empty()) return rows;
    const launched_work launched{data};
    for (std::string& name : names) {
        const std::vector<std::uint32_t>& ranges = instances[name];
        rows.push_back(make_row(data, launched, std::move(name), ranges));
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
