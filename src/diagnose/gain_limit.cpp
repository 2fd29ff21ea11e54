// SPDX-License-Identifier: Apache-2.0
#include "diagnose/gain_limit.hpp"

#include <algorithm>
#include <map>
#include <utility>
#include <vector>

#include "analysis/projection/transfer_name.hpp"
#include "base/near_search.hpp"
#include "base/statistics.hpp"

namespace prof {

bool knows_waits(const timeline& data) noexcept {
    return data.places.size() < 2 || !data.stream_waits.empty() || !data.host_waits.empty();
}

std::int64_t longest_beside(const timeline& data, const replay_changes& changes) {
    std::map<std::pair<std::uint32_t, copy_direction>, busy_time> engines;  // of each GPU
    std::int64_t longest_ns = 0;
    for (const op_change& change : changes.ops) {
        if (change.fate != op_fate::runs_beside) continue;
        const gpu_op& op = data.ops[change.op];
        const copy_direction direction =
            op.kind == op_kind::memcpy ? direction_of(data.transfers[op.detail]) : copy_direction::none;
        const std::uint32_t device = data.place_of(op).device;
        engines[{device, direction}].add(device, op.start_ns, op.end_ns);
    }
    for (const auto& [engine, busy] : engines) longest_ns = std::max(longest_ns, busy.total_ns());
    return longest_ns;
}

gain_limit::gain_limit(const dependency_graph& graph, std::int64_t steps_ns)
    : data_(&graph.data()), not_computing_ns_(steps_ns) {
    std::map<std::uint32_t, busy_time> gpus;
    const std::vector<step_run>& runs = graph.runs();
    std::size_t begun = 0;
    for (const gpu_op& op : data_->ops) {
        if ((op.kind != op_kind::kernel && op.kind != op_kind::graph) || op.launch == npos) continue;
        const std::int64_t called_ns = data_->api_calls[op.launch].start_ns;
        begun =
            partition_point_near(runs.size(), begun, [&](std::size_t at) { return runs[at].start_ns <= called_ns; });
        if (begun == 0 || called_ns >= runs[begun - 1].end_ns) continue;
        const std::uint32_t device = data_->place_of(op).device;
        gpus[device].add(device, op.start_ns, op.end_ns);
    }
    std::int64_t longest_ns = 0;
    for (const auto& [device, busy] : gpus) longest_ns = std::max(longest_ns, busy.total_ns());
    not_computing_ns_ = std::max<std::int64_t>(steps_ns - longest_ns, 0);
}

std::int64_t gain_limit::of(const replay_changes& changes) const noexcept {
    std::int64_t out = not_computing_ns_;
    for (const op_change& change : changes.ops) {
        const gpu_op& op = data_->ops[change.op];
        out += change.leaves_stream() ? op.end_ns - op.start_ns : change.less_ns;
    }
    return out;
}

}  // namespace prof
