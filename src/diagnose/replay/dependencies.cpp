// SPDX-License-Identifier: Apache-2.0
#include "diagnose/replay/dependencies.hpp"

#include "analysis/breakdown/host_activity.hpp"
#include "analysis/projection/xla_phases.hpp"
#include "diagnose/replay/dependency_waits.hpp"

namespace prof {

dependency_graph::dependency_graph(const timeline& data, const attribution& att, const whole_steps& steps,
                                   const graph_part& part, std::size_t first_step)
    : first_step_(first_step),
      has_xla_(has_xla_ranges(data)),
      events_(data, att, steps, part),
      more_waits_(find_waits(events_, att, steps, has_xla_)),
      needs_(events_) {
    events_.find_work_across_edges(events_.has_steps() ? steps.thread : npos);
}

std::vector<event_later_than> dependency_graph::find_waits(dependency_events& events, const attribution& att,
                                                           const whole_steps& steps, bool has_xla) {
    dependency_waits waits(events);
    waits.find_waits();
    if (has_xla && events.has_steps() && steps.thread != npos) {
        waits.find_runtime_waits(steps.thread, host_activity(events.data(), att));
    }
    waits.measure_work();
    return waits.take_more_waits();
}

}  // namespace prof
