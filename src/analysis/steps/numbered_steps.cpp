// SPDX-License-Identifier: Apache-2.0
#include "analysis/steps/numbered_steps.hpp"

#include <algorithm>
#include <string_view>
#include <utility>

#include "analysis/projection/segment.hpp"
#include "analysis/steps/captured_steps.hpp"
#include "record/label.hpp"
#include "timeline/windows.hpp"

namespace prof {
namespace {

bool has_own_steps(const timeline& data, const hidden_domains& hidden) {
    return std::any_of(data.ranges.begin(), data.ranges.end(), [&](const timeline_range& range) {
        return range.style == range_style::push_pop && !hidden.contains(range) &&
               data.name(range.name).starts_with("ProfilerStep#");
    });
}

std::vector<numbered_step> observed_steps(const timeline& data, const hidden_domains& hidden) {
    std::vector<numbered_step> out;
    // A StepTraceAnnotation's range covers only the time in which the host dispatches a step to the GPU.
    bool is_dispatch = false;
    for (const range_id i : data.ranges.ids()) {
        const timeline_range& range = data.ranges[i];
        if (range.style != range_style::push_pop || !is_phase(data, range) || hidden.contains(range)) continue;
        if (!out.empty() && range.thread != out.back().thread) continue;
        const std::string_view name = data.name(range.name);
        if (name == "startup") out.clear();  // the steps before it were the start-up
        if (name != "step") continue;
        if (is_dispatch && !out.empty()) out.back().end_ns = range.start_ns;
        is_dispatch = range.category == annotation_witness;
        const auto of_whole = data.step_numbers.find(i);
        out.push_back({.start_ns = range.start_ns,
                       .end_ns = range.end_ns,
                       .number = of_whole == data.step_numbers.end() ? out.size() : of_whole->second,
                       .thread = range.thread,
                       .phase = i});
    }
    return out;
}

}  // namespace

std::vector<numbered_step> counted_steps(const timeline& data, const hidden_domains& hidden) {
    std::vector<numbered_step> out;
    for (const timeline_mark& mark : data.marks) {
        if (!begins_step(data, mark) || hidden.contains(mark.domain)) continue;
        if (!out.empty()) out.back().end_ns = std::min(out.back().end_ns, mark.time_ns);
        const std::int64_t end_ns = data.windows[window_at(data.windows, mark.time_ns)].end_ns;
        out.push_back({.start_ns = mark.time_ns,
                       .end_ns = std::max(end_ns, mark.time_ns),
                       .number = mark.payload,
                       .thread = mark.thread});
    }
    return out;
}

numbered_steps number_steps(const timeline& data, const hidden_domains& hidden) {
    if (has_own_steps(data, hidden)) return {};
    std::vector<numbered_step> counted = counted_steps(data, hidden);
    if (!counted.empty()) return {step_source::counted, std::move(counted)};
    return {step_source::observed, observed_steps(data, hidden)};
}

}  // namespace prof
