// SPDX-License-Identifier: Apache-2.0
#include "analysis/breakdown/breakdown_steps.hpp"

#include <algorithm>
#include <utility>
#include <vector>

namespace prof {
breakdown_steps find_breakdown_steps(const timeline& data, const attribution& att, bool has_step_function,
                                     const step_scope& scope) {
    breakdown_steps out{.of = steps_that_count(data, att, has_step_function, scope)};
    if (!out.of.steps.empty()) return breakdown_steps_of(std::move(out.of));
    std::vector<time_span> windows;
    windows.reserve(data.windows.size());
    for (const timeline_window& window : data.windows) windows.push_back({window.start_ns, window.end_ns});
    time_spans all(std::move(windows));
    if (!scope.times.is_empty()) all = all.within(scope.times);
    out = {};
    for (const time_span& span : all.list()) {
        out.of.steps.push_back({span.start_ns, span.end_ns, false, out.of.steps.size()});
    }
    return out;
}

breakdown_steps breakdown_steps_of(whole_steps steps) {
    breakdown_steps out{.of = std::move(steps), .has_steps = true};
    const auto delayed = std::count_if(out.of.steps.begin(), out.of.steps.end(),
                                       [](const whole_step& step) { return step.start_delay_ns > 0; });
    out.by_gpu = 2 * static_cast<std::size_t>(delayed) > out.of.steps.size();
    return out;
}

std::set<std::uint32_t> devices_of(const timeline& data) {
    std::set<std::uint32_t> out;
    for (const gpu_op& op : data.ops) out.insert(data.place_of(op).device);
    return out;
}

}  // namespace prof
