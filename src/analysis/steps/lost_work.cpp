// SPDX-License-Identifier: Apache-2.0
#include "analysis/steps/lost_work.hpp"

#include <algorithm>

#include "analysis/steps/step_search.hpp"
#include "record/activities.hpp"

namespace prof {

std::uint64_t launches_of_lost_work(const timeline& data, const std::vector<whole_step>& steps) {
    if (steps.empty() || !data.activities.has(activity::kernels)) return 0;
    step_search step_by_time(steps);
    std::uint64_t lost = 0;
    for (const timeline_api_call& call : data.api_calls) {
        if (call.op_count == 0 && !call.is_unfinished) continue;
        if (step_by_time.at(call.start_ns) == npos) continue;
        if (call.op_count != 0) return 0;
        ++lost;
    }
    constexpr std::uint64_t least = 16;  // fewer may have failed, or be what a short trace does not show
    if (lost < least) return 0;
    const bool any_runs = std::any_of(data.ops.begin(), data.ops.end(), [&](const gpu_op& op) {
        return op.end_ns > steps.front().start_ns && op.start_ns < steps.back().end_ns;
    });
    return any_runs ? 0 : lost;
}

}  // namespace prof
