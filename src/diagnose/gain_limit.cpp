// SPDX-License-Identifier: Apache-2.0
#include "diagnose/gain_limit.hpp"

#include <algorithm>
#include <map>
#include <utility>
#include <vector>

#include "analysis/projection/transfer_name.hpp"
#include "base/near_search.hpp"

namespace prof {

bool knows_waits(const timeline& data) noexcept {
    return data.places.size() < 2 || !data.stream_waits.empty() || !data.host_waits.empty();
}

std::int64_t longest_beside(const timeline& data, const replay_changes& changes) {
    struct engine {
        std::int64_t busy_ns = 0;
        std::int64_t until_ns = INT64_MIN;
    };
    std::map<std::pair<std::uint32_t, copy_direction>, engine> engines;  // of each GPU
    std::int64_t longest_ns = 0;
    for (const op_change& change : changes.ops) {
        if (!change.runs_beside) continue;
        const gpu_op& op = data.ops[change.op];
        const copy_direction direction =
            op.kind == op_kind::memcpy ? direction_of(data.transfers[op.detail]) : copy_direction::none;
        engine& of = engines[{data.place_of(op).device, direction}];
        of.busy_ns += std::max<std::int64_t>(op.end_ns - std::max(op.start_ns, of.until_ns), 0);
        of.until_ns = std::max(of.until_ns, op.end_ns);
        longest_ns = std::max(longest_ns, of.busy_ns);
    }
    return longest_ns;
}

gain_limit::gain_limit(const dependency_graph& graph, std::int64_t steps_ns)
    : data_(&graph.data()), not_computing_ns_(steps_ns) {
    struct gpu {
        std::int64_t computes_ns = 0;
        std::int64_t until_ns = INT64_MIN;
    };
    std::map<std::uint32_t, gpu> gpus;
    const std::vector<step_run>& runs = graph.runs();
    std::size_t begun = 0;
    for (const gpu_op& op : data_->ops) {
        if ((op.kind != op_kind::kernel && op.kind != op_kind::graph) || op.launch == npos) continue;
        const std::int64_t called_ns = data_->api_calls[op.launch].start_ns;
        begun =
            partition_point_near(runs.size(), begun, [&](std::size_t at) { return runs[at].start_ns <= called_ns; });
        if (begun == 0 || called_ns >= runs[begun - 1].end_ns) continue;
        gpu& of = gpus[data_->places[op.place].device];
        of.computes_ns += std::max<std::int64_t>(op.end_ns - std::max(op.start_ns, of.until_ns), 0);
        of.until_ns = std::max(of.until_ns, op.end_ns);
    }
    std::int64_t longest_ns = 0;
    for (const auto& [device, of] : gpus) longest_ns = std::max(longest_ns, of.computes_ns);
    not_computing_ns_ = std::max<std::int64_t>(steps_ns - longest_ns, 0);
}

std::int64_t gain_limit::of(const replay_changes& changes) const noexcept {
    std::int64_t out = not_computing_ns_;
    for (const op_change& change : changes.ops) {
        const gpu_op& op = data_->ops[change.op];
        out += change.is_gone ? op.end_ns - op.start_ns : change.less_ns;
    }
    return out;
}

}  // namespace prof
