// SPDX-License-Identifier: Apache-2.0
#include "diagnose/added_work.hpp"

#include <algorithm>
#include <cstddef>

#include "diagnose/examined_steps.hpp"
#include "diagnose/replay/dependencies.hpp"
#include "diagnose/replay/replay.hpp"
#include "timeline/launched_ops.hpp"

namespace prof {
namespace {

std::size_t records_until(const timeline& data, std::int64_t ns) {
    const auto before = [&](const auto& all) {
        return std::partition_point(all.begin(), all.end(), [&](const auto& each) { return each.start_ns < ns; }) -
               all.begin();
    };
    return static_cast<std::size_t>(before(data.api_calls) + before(data.ops));
}

// The first operation that the thread launches from then on; npos: none in this part.
op_id next_op(const dependency_graph& graph, host_event_id event, thread_id thread) {
    constexpr std::size_t farthest = 4'096;  // events
    const row_table<host_event>& events = graph.events();
    const std::size_t end = std::min(events.size(), event + farthest);
    for (; event < end; ++event) {
        if (events[event].thread != thread || events[event].call == npos) continue;
        const auto ops = ops_of(graph.data(), graph.data().api_calls[events[event].call]);
        if (!ops.empty() && graph.part().has_op(ops.front())) return ops.front();
    }
    return npos;
}

// A change may make something longer: it is so much less than nothing shorter. What the GPU does is added to the
// operation before those that follow in their stream: it may begin while the host is still launching it.
replay_changes changes_of(const dependency_graph& graph, const std::vector<added_work>& added) {
    replay_changes out;
    const row_table<host_event>& events = graph.events();
    for (const added_work& each : added) {
        host_event_id event(std::partition_point(events.begin(), events.end(),
                                                 [&](const host_event& at) { return at.start_ns < each.at_ns; }) -
                            events.begin());
        while (event < events.size() && events[event].thread != each.thread) ++event;
        if (event == events.size()) continue;
        out.events.push_back({.event = event, .gap_less_ns = -each.host_ns});
        const op_id op = next_op(graph, event, each.thread);
        if (op == npos) continue;
        const op_id previous = graph.needs_of(op).previous;
        const bool is_changeable = previous != npos && graph.part().has_op(previous);
        out.ops.push_back({.op = is_changeable ? previous : op, .less_ns = -each.gpu_ns});
    }
    out.normalize();
    return out;
}

}  // namespace

whole_steps steps_to_replay(const timeline& data, const whole_steps& steps, std::size_t most_records) {
    whole_steps out = steps;
    if (steps.steps.empty()) return out;
    const std::vector<whole_step> joined = dependency_graph::joined_steps(data, steps.steps);
    const std::size_t middle = joined.size() / 2;
    std::size_t first = middle;
    std::size_t end = middle + 1;
    const auto records = [&](std::size_t from, std::size_t to) {
        return records_until(data, joined[to - 1].end_ns) - records_until(data, joined[from].start_ns);
    };
    // Where steps do not adjoin, they are not one run.
    const auto adjoins = [&](std::size_t step) { return joined[step].end_ns == joined[step + 1].start_ns; };
    for (bool grows = true; grows;) {
        grows = false;
        if (first > 0 && adjoins(first - 1) && records(first - 1, end) <= most_records) {
            --first;
            grows = true;
        }
        if (end < joined.size() && adjoins(end - 1) && records(first, end + 1) <= most_records) {
            ++end;
            grows = true;
        }
    }
    out.steps.assign(joined.begin() + static_cast<std::ptrdiff_t>(first),
                     joined.begin() + static_cast<std::ptrdiff_t>(end));
    return out;
}

added_times price_of_added_work(const timeline& data, const attribution& att, const whole_steps& steps,
                                std::span<const std::vector<added_work>> asked) {
    added_times out{.steps = steps.steps.size()};
    if (steps.steps.empty()) return out;
    const graph_part part = part_around(data, steps.steps.front().start_ns, steps.steps.back().end_ns);
    const dependency_graph graph(data, att, steps, part);
    const std::int64_t recorded_ns = replayed_ns(graph);
    for (const std::vector<added_work>& each : asked) {
        const std::int64_t longer_ns = replayed_ns(graph, changes_of(graph, each)) - recorded_ns;
        out.longer_ns.push_back(static_cast<double>(longer_ns) / static_cast<double>(out.steps));
    }
    return out;
}

}  // namespace prof
