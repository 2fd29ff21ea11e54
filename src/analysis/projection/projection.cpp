// SPDX-License-Identifier: Apache-2.0
#include "analysis/projection/projection.hpp"

#include <algorithm>
#include <utility>

#include "analysis/projection/op_class.hpp"
#include "analysis/projection/process_ranges.hpp"
#include "analysis/projection/row_tree.hpp"
#include "analysis/projection/xla_phases.hpp"
#include "base/statistics.hpp"
#include "record/label.hpp"

namespace prof {
namespace {

// The GPU cost of one range instance, or of a captured range in one launch.
struct instance {
    std::int64_t sum_ns = 0;
    std::int64_t first_ns = INT64_MAX;
    std::int64_t last_ns = INT64_MIN;

    void add(const gpu_op& op) noexcept {
        sum_ns += op.end_ns - op.start_ns;
        first_ns = std::min(first_ns, op.start_ns);
        last_ns = std::max(last_ns, op.end_ns);
    }
};

class projector {
    using node_id = row_tree::node_id;

public:
    projector(const timeline& data, const attribution& att, const fold_rule& rule)
        : data_(data),
          att_(att),
          class_of_(data),
          tree_(data, att, rule),
          rows_(tree_.nodes().size()),
          busy_(rows_.size()),
          instances_(data.ranges.size()),
          replayed_(att.replayed.size()) {}

    projection run() {
        count_operations();
        result_.total_busy_ns = total_busy_.total_ns();
        result_.ops_of_unseen_captures = att_.ops_of_unseen_captures;
        result_.ops_of_ambiguous_captures = att_.ops_of_ambiguous_captures;
        count_instances();
        count_waits();
        arrange_rows();
        return std::move(result_);
    }

private:
    // By device, and by start within a device, as busy_time requires.
    void count_operations() {
        const auto device = [&](const gpu_op& op) { return data_.place_of(op).device; };
        const auto is_lower = [&](const gpu_op& a, const gpu_op& b) { return device(a) < device(b); };
        if (std::is_sorted(data_.ops.begin(), data_.ops.end(), is_lower)) {  // as those of a single device are
            for (const op_id op : data_.ops.ids()) count(op);
            return;
        }
        std::vector<op_id> order(data_.ops.ids().begin(), data_.ops.ids().end());
        std::stable_sort(order.begin(), order.end(),
                         [&](op_id a, op_id b) { return is_lower(data_.ops[a], data_.ops[b]); });
        for (const op_id op : order) count(op);
    }

    void count(op_id index) {
        const gpu_op& op = data_.ops[index];
        const std::int64_t duration_ns = op.end_ns - op.start_ns;
        const bool adopted = att_.adopted[index] != 0;
        const bool communicates = class_of_(op) == op_class::communication;
        result_.communication_ns += communicates ? duration_ns : 0;
        result_.total_gpu_ns += duration_ns;
        result_.total_ops += 1;
        result_.adopted_ops += adopted ? 1 : 0;
        const std::uint32_t device = data_.place_of(op).device;
        total_busy_.add(device, op.start_ns, op.end_ns);

        const node_id self = tree_.self_of(index);
        rows_[self].gpu_self_ns += duration_ns;
        rows_[self].self_ops += 1;
        // The ranges for which an operation counts lie on one path of the tree, so each row is counted once.
        for_each_open_range(data_, att_, index, [&](range_id range) { instances_[range].add(op); });
        tree_.for_each_open_node(index, [&](node_id node) { count_for(node, op, adopted, communicates); });
        for_each_replayed_range(att_, index, [&](replayed_id replayed) {
            replayed_[replayed].add(op);
            count_for(tree_.node_of_replayed(replayed), op, adopted, communicates);
        });
        const node_id fixed = tree_.fixed_of(index);
        if (fixed != npos) count_for(fixed, op, adopted, communicates);
    }

    void count_for(node_id node, const gpu_op& op, bool adopted, bool communicates) {
        projection_row& row = rows_[node];
        const std::int64_t duration_ns = op.end_ns - op.start_ns;
        row.gpu_sum_ns += duration_ns;
        row.ops += 1;
        row.adopted_ops += adopted ? 1 : 0;
        row.adopted_ns += adopted ? duration_ns : 0;
        row.communication_ns += communicates ? duration_ns : 0;
        busy_[node].add(data_.place_of(op).device, op.start_ns, op.end_ns);
    }

    void count_instances() {
        row_values<node_id, std::vector<std::int64_t>> sums_ns(rows_.size());
        row_values<node_id, std::vector<std::int64_t>> hosts_ns(rows_.size());
        const row_values<range_id, std::int64_t> inside_ns = tree_.host_time_inside();
        for (const range_id i : data_.ranges.ids()) {
            const node_id node = tree_.node_of(i);
            if (node == npos) continue;
            const std::int64_t duration_ns = data_.ranges[i].inside_until_ns() - data_.ranges[i].start_ns;
            rows_[node].host_ns += duration_ns;
            rows_[node].host_self_ns += duration_ns - inside_ns[i];
            if (continues_phase(data_, data_.ranges[i]) &&
                !hosts_ns[node].empty()) {  // with the row's instance before it
                hosts_ns[node].back() += duration_ns;
                add_to_instance(node, instances_[i], sums_ns[node]);
                continue;
            }
            hosts_ns[node].push_back(duration_ns);
            if (data_.ranges[i].payload_kind == payload_type::bytes) {
                add_saturating(rows_[node].payload_bytes, data_.ranges[i].payload);
            }
            count_instance(node, instances_[i], sums_ns[node]);
        }
        for (const replayed_id i : att_.replayed.ids()) {
            const node_id node = tree_.node_of_replayed(i);
            count_instance(node, replayed_[i], sums_ns[node]);
        }
        for (const node_id node : rows_.ids()) {
            set_instance_statistics(rows_[node], sums_ns[node]);
            set_host_statistics(rows_[node], hosts_ns[node]);
        }
    }

    void add_to_instance(node_id node, const instance& gpu, std::vector<std::int64_t>& sums_ns) {
        if (gpu.first_ns < gpu.last_ns) rows_[node].gpu_span_ns += gpu.last_ns - gpu.first_ns;
        sums_ns.back() += gpu.sum_ns;
    }

    void count_instance(node_id node, const instance& gpu, std::vector<std::int64_t>& sums_ns) {
        rows_[node].instances += 1;
        if (gpu.first_ns < gpu.last_ns) rows_[node].gpu_span_ns += gpu.last_ns - gpu.first_ns;
        sums_ns.push_back(gpu.sum_ns);
    }

    // A wait belongs to its own thread: it counts for the ranges open there, even if the thread works for another one.
    void count_waits() {
        for (const timeline_api_call& call : data_.api_calls) {
            if (!waits(call.kind) || call.end_ns == 0) continue;
            const std::int64_t duration_ns = call.end_ns - call.start_ns;
            result_.wait_ns += duration_ns;
            bool in_range = false;
            tree_.for_each_node_on_thread(call, [&](node_id node) {
                in_range = true;
                rows_[node].wait_ns += duration_ns;
            });
            if (!in_range) rows_[row_tree::no_range].wait_ns += duration_ns;
        }
    }

    void arrange_rows() {
        row_values<node_id, std::uint32_t> place(rows_.size(), npos);
        for (const node_id node : tree_.preorder()) {
            const row_tree::node& n = tree_.nodes()[node];
            projection_row& row = rows_[node];
            row.kind = row_tree::kind_of(node);
            row.name = texts_.of(std::string{n.text});
            row.is_captured = n.is_captured;
            row.merged_names = n.names.doubtful();
            row.is_observed = n.is_observed;
            row.is_execution = n.is_execution;
            row.gpu_child_ns = row.gpu_sum_ns - row.gpu_self_ns;
            row.gpu_busy_ns = busy_[node].total_ns();
            std::string_view above;
            if (n.parent != npos) {
                row.parent = place[n.parent];
                const projection_row& parent = result_.rows[row.parent];
                row.depth = parent.depth + 1;
                above = parent.path;
            }
            row.path = texts_.of(path_below(above, n.segment));
            place[node] = static_cast<std::uint32_t>(result_.rows.size());
            result_.rows.push_back(std::move(row));
        }
    }

    const timeline& data_;
    const attribution& att_;
    op_classifier class_of_;
    row_tree tree_;
    row_values<node_id, projection_row> rows_;  // by node of the tree, until they are arranged
    row_values<node_id, busy_time> busy_;       // by node
    row_values<range_id, instance> instances_;
    row_values<replayed_id, instance> replayed_;
    busy_time total_busy_;
    text_budget texts_;
    projection result_;
};

}  // namespace

std::string_view row_type(row_kind kind, bool is_captured, bool is_observed) noexcept {
    switch (kind) {
        case row_kind::range:
            if (is_captured) return "captured";
            return is_observed ? "phase" : "push_pop";
        case row_kind::no_range:
            return "no_range";
        case row_kind::ambiguous:
            return "ambiguous";
        case row_kind::unmatched:
            break;
    }
    return "unmatched";
}

projection project(const timeline& data, const attribution& att, const projection_options& options) {
    projection result = projector{data, att, options.fold}.run();
    result.fold = options.fold;
    result.process_ranges = project_process_ranges(data, att.hidden, options.fold);
    return result;
}

projection project(const timeline& data, const projection_options& options) {
    const shown_timeline shown{data, options};
    return project(shown.data(), attribute(shown.data(), options.attribution), options);
}

}  // namespace prof
