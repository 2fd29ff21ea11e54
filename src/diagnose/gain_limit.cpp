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

void time_beside::add(const timeline& data, const replay_changes& changes) {
    for (const op_change& change : changes.ops) {
        if (change.fate != op_fate::runs_beside) continue;
        const gpu_op& op = data.ops[change.op];
        const copy_direction direction =
            op.kind == op_kind::memcpy ? direction_of(data.transfers[op.detail]) : copy_direction::none;
        const std::uint32_t device = data.place_of(op).device;
        engines_[{device, direction}].add(device, op.start_ns, op.end_ns);
    }
}

std::int64_t time_beside::longest_ns() const {
    std::int64_t longest_ns = 0;
    for (const auto& [engine, busy] : engines_) longest_ns = std::max(longest_ns, busy.total_ns());
    return longest_ns;
}

void gain_limit::add(const dependency_graph& graph) {
    const timeline& data = graph.data();
    const std::vector<step_run>& runs = graph.runs();
    std::size_t begun = 0;
    for (op_id i = graph.part().first_op; i < graph.part().end_op; ++i) {
        const gpu_op& op = data.ops[i];
        if ((op.kind != op_kind::kernel && op.kind != op_kind::graph) || op.launch == npos) continue;
        if (!graph.ends_steps(i)) continue;
        const std::int64_t called_ns = data.api_calls[op.launch].start_ns;
        begun =
            partition_point_near(runs.size(), begun, [&](std::size_t at) { return runs[at].start_ns <= called_ns; });
        if (begun == 0 || called_ns >= runs[begun - 1].end_ns) continue;
        const std::uint32_t device = data.place_of(op).device;
        gpus_[device].add(device, op.start_ns, op.end_ns);
    }
}

std::int64_t gain_limit::not_computing_ns(std::int64_t steps_ns) const {
    std::int64_t longest_ns = 0;
    for (const auto& [device, busy] : gpus_) longest_ns = std::max(longest_ns, busy.total_ns());
    return std::max<std::int64_t>(steps_ns - longest_ns, 0);
}

std::int64_t gain_limit::changes_ns(const timeline& data, const replay_changes& changes) noexcept {
    std::int64_t out = 0;
    for (const op_change& change : changes.ops) {
        const gpu_op& op = data.ops[change.op];
        out += change.leaves_stream() ? op.end_ns - op.start_ns : change.less_ns;
    }
    return out;
}

}  // namespace prof
