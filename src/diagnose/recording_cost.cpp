// SPDX-License-Identifier: Apache-2.0
#include "diagnose/recording_cost.hpp"

#include <algorithm>
#include <cstddef>
#include <utility>
#include <vector>

#include "analysis/steps/captured_steps.hpp"
#include "base/statistics.hpp"
#include "diagnose/replay/replay.hpp"

namespace prof {

recording_cost cost_of_recording(const dependency_graph& graph, std::int64_t replayed) {
    recording_cost out;
    replay_changes without;
    const row_table<host_event>& events = graph.events();
    auto run = graph.runs().begin();
    for (const host_event_id i : events.ids()) {
        while (run != graph.runs().end() && run->end_ns <= events[i].start_ns) ++run;
        if (run == graph.runs().end()) break;
        if (events[i].call == npos || events[i].start_ns < run->start_ns) continue;
        if (graph.data().api_calls[events[i].call].op_count == 0) continue;
        ++out.launches;
        without.events.push_back({.event = i, .work_less_ns = recorded_launch_ns});
    }
    without.normalize();
    if (!without.is_empty()) out.longer_ns = std::max<std::int64_t>(replayed - replayed_ns(graph, without), 0);
    return out;
}

double unrecorded_step_ns(const timeline& data) {
    constexpr std::uint64_t least_steps = 10;
    std::vector<std::int64_t> means_ns;
    const std::vector<captured_step> steps = find_captured_steps(data);
    for (std::size_t i = 1; i < steps.size(); ++i) {
        const captured_step& before = steps[i - 1];
        const captured_step& after = steps[i];
        if (before.window == after.window || after.number <= before.number + least_steps) continue;
        const auto between = static_cast<std::int64_t>(after.number - before.number - 1);
        means_ns.push_back((after.start_ns - before.end_ns) / between);
    }
    return median(std::move(means_ns));
}

}  // namespace prof
