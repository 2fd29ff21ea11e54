// SPDX-License-Identifier: Apache-2.0
#include "analysis/breakdown/breakdown_steps.hpp"

#include <algorithm>
#include <utility>
#include <vector>

#include "analysis/steps/step_search.hpp"
#include "base/statistics.hpp"

namespace prof {
namespace {

// Where the GPU still has work for more than a step when the host has finished the last one, the host's times are no
// measure of a step. Then a step lasts from the beginning of its first operation to that of the next step's.
bool put_on_gpu(const timeline& data, std::vector<whole_step>& steps) {
    std::vector<std::int64_t> begins_ns(steps.size(), INT64_MAX);
    std::int64_t end_ns = INT64_MIN;
    step_search steps_by_time(steps);
    for (const gpu_op& op : data.ops) {
        if (op.launch == npos) continue;
        const std::uint32_t step = steps_by_time.at(data.api_calls[op.launch].start_ns);
        if (step == npos) continue;
        begins_ns[step] = std::min(begins_ns[step], op.start_ns);
        end_ns = std::max(end_ns, op.end_ns);
    }
    if (static_cast<double>(end_ns) <= static_cast<double>(steps.back().end_ns) + median(lengths_of(steps))) {
        return false;
    }
    std::vector<whole_step> out;
    for (std::size_t i = 0; i < steps.size(); ++i) {
        if (begins_ns[i] == INT64_MAX || (!out.empty() && begins_ns[i] <= out.back().start_ns)) continue;
        if (!out.empty()) out.back().end_ns = begins_ns[i];
        out.push_back({begins_ns[i], end_ns, steps[i].is_first, steps[i].number, steps[i].host_start_ns()});
    }
    steps = std::move(out);
    return true;
}

// Whether the step lies in the times, which are all if there are none.
bool lies_in(const time_spans& times, const whole_step& step) {
    if (times.is_empty()) return true;
    return times.cut(step.start_ns, step.end_ns) == time_span{step.start_ns, step.end_ns};
}

}  // namespace

breakdown_steps find_breakdown_steps(const timeline& data, const attribution& att, bool has_step_function,
                                     const time_spans& times) {
    breakdown_steps out{.of = find_whole_steps(data, att, has_step_function)};
    std::erase_if(out.of.steps, [&](const whole_step& step) { return !lies_in(times, step); });
    leave_out_warm_up(out.of);
    if (!out.of.steps.empty()) return breakdown_steps_of(data, std::move(out.of));
    std::vector<time_span> windows;
    windows.reserve(data.windows.size());
    for (const timeline_window& window : data.windows) windows.push_back({window.start_ns, window.end_ns});
    time_spans all(std::move(windows));
    if (!times.is_empty()) all = all.within(times);
    out = {};
    for (const time_span& span : all.list()) {
        out.of.steps.push_back({span.start_ns, span.end_ns, false, out.of.steps.size()});
    }
    return out;
}

breakdown_steps breakdown_steps_of(const timeline& data, whole_steps steps) {
    breakdown_steps out{.of = std::move(steps), .has_steps = true};
    out.by_gpu = put_on_gpu(data, out.of.steps);
    return out;
}

std::set<std::uint32_t> devices_of(const timeline& data) {
    std::set<std::uint32_t> out;
    for (const gpu_op& op : data.ops) out.insert(data.place_of(op).device);
    return out;
}

}  // namespace prof
