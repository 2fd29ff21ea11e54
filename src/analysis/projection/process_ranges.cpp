// SPDX-License-Identifier: Apache-2.0
#include "analysis/projection/process_ranges.hpp"

#include <algorithm>
#include <map>
#include <string>
#include <utility>

#include "analysis/projection/merged_names.hpp"
#include "analysis/projection/op_class.hpp"
#include "analysis/projection/segment.hpp"
#include "base/statistics.hpp"
#include "timeline/launched_ops.hpp"

namespace prof {
namespace {

// The GPU work of a process's consecutive calls. Process ranges may overlap in any way, so visiting the calls of each
// range would be quadratic. Here a run of calls costs the logarithm of their number.
class launched_work {
public:
    struct span {
        std::int64_t sum_ns = 0;
        std::int64_t first_ns = INT64_MAX;
        std::int64_t last_ns = INT64_MIN;

        void add(const span& other) noexcept {
            sum_ns += other.sum_ns;
            first_ns = std::min(first_ns, other.first_ns);
            last_ns = std::max(last_ns, other.last_ns);
        }
    };

    launched_work(const timeline& data, std::uint32_t process)
        : data_(data), process_(process), leaves_(data.api_calls.size() / leaf_calls + 1) {
        tree_.resize(2 * leaves_);
        for (const call_id call : data.api_calls.ids()) {
            tree_[leaves_ + call / leaf_calls].add(of_call(call));
        }
        for (std::size_t node = leaves_; node-- > 1;) {
            tree_[node].add(tree_[2 * node]);
            tree_[node].add(tree_[2 * node + 1]);
        }
    }

    // The index of the first call that began at or after `time_ns`.
    std::size_t first_call(std::int64_t time_ns) const {
        const auto call = std::lower_bound(data_.api_calls.begin(), data_.api_calls.end(), time_ns,
                                           [](const timeline_api_call& c, std::int64_t t) { return c.start_ns < t; });
        return static_cast<std::size_t>(call - data_.api_calls.begin());
    }

    bool has(const timeline_api_call& call) const { return data_.threads[call.thread].process == process_; }

    // The work of the calls [first, last).
    span of_calls(std::size_t first, std::size_t last) const {
        span all;
        for (; first < last && first % leaf_calls != 0; ++first) all.add(of_call(first));
        for (; last > first && last % leaf_calls != 0; --last) all.add(of_call(last - 1));
        std::size_t from = leaves_ + first / leaf_calls;
        std::size_t to = leaves_ + last / leaf_calls;
        for (; from < to; from /= 2, to /= 2) {
            if (from % 2 != 0) all.add(tree_[from++]);
            if (to % 2 != 0) all.add(tree_[--to]);
        }
        return all;
    }

private:
    static constexpr std::size_t leaf_calls = 16;

    span of_call(std::size_t index) const {
        span all;
        if (!has(data_.api_calls[index])) return all;
        for (const op_id i : ops_of(data_, data_.api_calls[index])) {
            const gpu_op& op = data_.ops[i];
            all.add({op.end_ns - op.start_ns, op.start_ns, op.end_ns});
        }
        return all;
    }

    const timeline& data_;
    std::uint32_t process_;
    std::size_t leaves_;
    std::vector<span> tree_;  // the children of node n are 2n and 2n + 1; the leaves come last
};

// `ranges`: the row's instances, ordered by start.
projection_row make_row(const timeline& data, const std::map<std::uint32_t, launched_work>& work_of_processes,
                        std::string path, const std::string& name, const std::vector<range_id>& ranges) {
    projection_row row;
    row.path = std::move(path);
    row.name = name;
    row.instances = ranges.size();

    std::vector<std::int64_t> sums_ns;
    std::vector<std::int64_t> hosts_ns;
    std::vector<op_id> row_ops;                  // each operation once, even if it counts for several instances
    std::map<std::uint32_t, std::size_t> taken;  // by process: the calls before this one
    for (const range_id index : ranges) {
        const timeline_range& range = data.ranges[index];
        row.host_ns += range.end_ns - range.start_ns;
        hosts_ns.push_back(range.end_ns - range.start_ns);
        if (range.payload_kind == payload_type::bytes) add_saturating(row.payload_bytes, range.payload);
        const std::uint32_t process = data.threads[range.thread].process;
        const launched_work& work = work_of_processes.at(process);
        std::size_t& taken_until = taken[process];
        const std::size_t first = work.first_call(range.start_ns);
        const std::size_t last = work.first_call(range.end_ns);
        const launched_work::span launched = work.of_calls(first, last);
        if (launched.first_ns < launched.last_ns) row.gpu_span_ns += launched.last_ns - launched.first_ns;
        sums_ns.push_back(launched.sum_ns);
        for (std::size_t i = std::max(first, taken_until); i < last; ++i) {
            const timeline_api_call& call = data.api_calls[i];
            if (!work.has(call)) continue;
            const auto ops = data.ops_by_launch.begin() + (call.op_count == 0 ? 0 : call.first_op);
            row_ops.insert(row_ops.end(), ops, ops + call.op_count);
        }
        taken_until = std::max(taken_until, last);
    }

    std::sort(row_ops.begin(), row_ops.end(), [&](op_id a, op_id b) {
        const std::uint32_t on_a = data.place_of(data.ops[a]).device;
        const std::uint32_t on_b = data.place_of(data.ops[b]).device;
        return on_a != on_b ? on_a < on_b : a < b;
    });
    busy_time busy;
    op_classifier class_of(data);
    for (const op_id i : row_ops) {
        const gpu_op& op = data.ops[i];
        row.gpu_sum_ns += op.end_ns - op.start_ns;
        if (class_of(op) == op_class::communication) row.communication_ns += op.end_ns - op.start_ns;
        busy.add(data.place_of(op).device, op.start_ns, op.end_ns);
    }
    row.ops = row_ops.size();
    row.gpu_busy_ns = busy.total_ns();
    set_instance_statistics(row, sums_ns);
    set_host_statistics(row, hosts_ns);
    return row;
}

// The instances of one row.
struct process_range_group {
    std::string path;
    bool is_folded = false;
    std::vector<range_id> ranges;  // by start
};

merged_names names_of(const timeline& data, std::vector<range_id> ranges) {
    // merged_names wants the instances of one thread together.
    std::stable_sort(ranges.begin(), ranges.end(),
                     [&](range_id a, range_id b) { return data.ranges[a].thread < data.ranges[b].thread; });
    merged_names out;
    for (const range_id range : ranges) out.add(data.ranges[range].name, data.ranges[range].thread);
    return out;
}

// By first start.
std::vector<process_range_group> group_by_name(const timeline& data, const hidden_domains& hidden,
                                               const fold_rule& rule) {
    const path_segments segment_of(data);
    std::vector<process_range_group> groups;
    std::map<std::string, std::size_t> place_of;  // of a path in groups
    const auto add = [&](range_id range, bool is_folded) {
        std::string path = segment_of(data.ranges[range], is_folded);
        const auto [found, is_new] = place_of.try_emplace(path, groups.size());
        if (is_new) groups.push_back({std::move(path), is_folded, {}});
        groups[found->second].ranges.push_back(range);
    };
    for (const range_id i : data.ranges.ids()) {
        if (data.ranges[i].style != range_style::start_end || hidden.contains(data.ranges[i])) continue;
        add(i, folds(rule, data, data.ranges[i]));
    }
    if (rule.mode != fold_mode::counters) return groups;

    std::vector<std::uint8_t> is_apart(groups.size());
    std::transform(groups.begin(), groups.end(), is_apart.begin(), [&](const process_range_group& group) {
        return std::uint8_t{names_of(data, group.ranges).are_different_things()};
    });
    if (std::find(is_apart.begin(), is_apart.end(), 1) == is_apart.end()) return groups;
    const std::vector<process_range_group> folded = std::exchange(groups, {});
    place_of.clear();
    for (std::size_t i = 0; i < folded.size(); ++i) {
        for (const range_id range : folded[i].ranges) add(range, is_apart[i] == 0);
    }
    std::stable_sort(groups.begin(), groups.end(), [](const process_range_group& a, const process_range_group& b) {
        return a.ranges.front() < b.ranges.front();
    });
    return groups;
}

}  // namespace

std::vector<projection_row> project_process_ranges(const timeline& data, const hidden_domains& hidden,
                                                   const fold_rule& rule) {
    std::vector<process_range_group> groups = group_by_name(data, hidden, rule);
    if (groups.empty()) return {};
    std::map<std::uint32_t, launched_work> work;  // by process
    for (const process_range_group& group : groups) {
        for (const range_id range : group.ranges) {
            const std::uint32_t process = data.threads[data.ranges[range].thread].process;
            work.try_emplace(process, data, process);
        }
    }
    std::vector<projection_row> rows;
    for (process_range_group& group : groups) {
        const timeline_range& first = data.ranges[group.ranges.front()];
        rows.push_back(
            make_row(data, work, std::move(group.path), segment_text(data, first, group.is_folded), group.ranges));
        if (group.is_folded) rows.back().merged_names = names_of(data, group.ranges).doubtful();
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

void set_host_statistics(projection_row& row, const std::vector<std::int64_t>& durations_ns) {
    if (durations_ns.empty()) return;
    const auto [shortest, longest] = std::minmax_element(durations_ns.begin(), durations_ns.end());
    row.host_min_ns = *shortest;
    row.host_max_ns = *longest;
    row.host_median_ns = median(durations_ns);
}

}  // namespace prof
