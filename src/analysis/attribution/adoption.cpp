// SPDX-License-Identifier: Apache-2.0
#include "analysis/attribution/adoption.hpp"

#include <fnmatch.h>

#include <algorithm>

#include "record/label.hpp"
#include "timeline/nearly_sorted.hpp"
#include "timeline/open_stack.hpp"

namespace prof {
namespace {

void insert_sorted(std::vector<thread_id>& set, thread_id value) {
    const auto place = std::lower_bound(set.begin(), set.end(), value);
    if (place == set.end() || *place != value) set.insert(place, value);
}

}  // namespace

adoption_rule::adoption_rule(const timeline& data, const std::string& pattern, std::vector<open_node>& extra_nodes,
                             bool with_graph_context)
    : works_for_others_(data.threads.size(), 0),
      states_(data.threads.size()),
      data_(data),
      by_stream_(data.places.size()) {
    if (pattern.empty()) return;
    bool any = false;
    for (const thread_id i : data.threads.ids()) {
        const bool matches = fnmatch(pattern.c_str(), data.threads[i].system_name.c_str(), 0) == 0;
        works_for_others_[i] = matches ? 1 : 0;
        any = any || matches;
    }
    if (!any) return;
    find_launchers();
    record_states(data, extra_nodes, with_graph_context);
}

void adoption_rule::find_launchers() {
    row_values<place_id, thread_id> latest(data_.places.size(), npos);  // by place: the thread that was inserted last
    for (const gpu_op& op : data_.ops) {
        if (op.launch == npos) continue;
        const timeline_api_call& call = data_.api_calls[op.launch];
        const thread_id thread = call.thread;
        if (works_for_others(thread) || latest[op.place] == thread) continue;
        const bool is_declared = call.open == npos ? call.works_for != npos
                                                   : data_.ranges[data_.open_nodes[call.open].range].works_for != npos;
        if (is_declared) continue;  // the launch is not the thread's own work
        latest[op.place] = thread;
        insert_sorted(by_stream_[op.place], thread);
        insert_sorted(by_device_[data_.place_of(op).device], thread);
        insert_sorted(launchers_, thread);
    }
}

// The open ranges at a moment follow from the ranges' times: those that have begun and not ended, in the order of
// beginning. Exception: a step is below the ranges that were put into it. Of several states within one nanosecond the
// last counts.
void adoption_rule::record_states(const timeline& data, std::vector<open_node>& extra_nodes, bool with_graph_context) {
    row_values<thread_id, row_values<thread_id, range_id>> opened(data.threads.size());
    for (const range_id i : data.ranges.ids()) {
        const timeline_range& range = data.ranges[i];
        const bool ever_open = range.start_ns < range.end_ns && range.takes_part();
        const bool counts =
            range.style == range_style::push_pop || (with_graph_context && range.style == range_style::graph_context);
        if (counts && range.works_for == npos && ever_open &&
            std::binary_search(launchers_.begin(), launchers_.end(), range.thread)) {
            opened[range.thread].push_back(i);
        }
    }
    for (const thread_id thread : opened.ids()) {
        states_[thread] = states_of(data, opened[thread], extra_nodes);
    }
}

std::vector<adoption_rule::state> adoption_rule::states_of(const timeline& data, const std::vector<range_id>& opened,
                                                           std::vector<open_node>& extra_nodes) {
    const auto end_of = [&](range_id range) { return data.ranges[range].inside_until_ns(); };
    std::vector<range_id> closed = opened;
    sort_nearly_sorted(closed, [&](range_id a, range_id b) {
        // If ranges end together, the inner one comes first, since it is on top.
        const std::int64_t end_a = end_of(a);
        const std::int64_t end_b = end_of(b);
        return end_a != end_b ? end_a < end_b : a > b;
    });

    std::vector<state> states;
    open_stack open{extra_nodes, static_cast<std::uint32_t>(data.open_nodes.size())};
    const auto note = [&](std::int64_t time_ns) { states.push_back({time_ns, open.head()}); };
    auto next_closed = closed.begin();
    const auto close_until = [&](std::int64_t time_ns) {
        for (; next_closed != closed.end() && end_of(*next_closed) <= time_ns; ++next_closed) {
            std::size_t position = open.size() - 1;
            while (open.range_at(position) != *next_closed) --position;
            open.remove(position);
            note(end_of(*next_closed));
        }
    };
    for (const range_id range : opened) {
        close_until(data.ranges[range].start_ns);
        std::size_t position = open.size();
        if (data.domains[data.ranges[range].domain].name == phase_domain) {
            for (std::size_t i = 0; i < position; ++i) {
                if (data.ranges[open.range_at(i)].parent == range) position = i;
            }
        }
        open.insert(position, range);
        note(data.ranges[range].start_ns);
    }
    close_until(INT64_MAX);
    return states;
}

open_node_id adoption_rule::open_on(thread_id thread, std::int64_t time_ns) const {
    const std::vector<state>& states = states_[thread];
    const auto after = std::upper_bound(states.begin(), states.end(), time_ns,
                                        [](std::int64_t t, const state& s) { return t < s.since_ns; });
    return after == states.begin() ? npos : (after - 1)->open;
}

bool adoption_rule::is_annotated(thread_id thread, std::int64_t time_ns) const noexcept {
    // Begins with the first range, ends when the last one has closed.
    const std::vector<state>& states = states_[thread];
    return !states.empty() && states.front().since_ns <= time_ns && time_ns < states.back().since_ns;
}

bool adoption_rule::choose(const thread_set& launched, std::int64_t time_ns, thread_id worker, adoption& choice) const {
    const std::uint32_t process = data_.threads[worker].process;
    std::size_t annotated = 0;
    open_node_id open = npos;
    for (const thread_id thread : launched) {
        if (data_.threads[thread].process != process || !is_annotated(thread, time_ns)) continue;
        ++annotated;
        if (const open_node_id here = open_on(thread, time_ns); here != npos) open = here;
    }
    if (annotated == 0) return false;
    // A thread between two ranges may also be waiting for autograd, so it is as much a candidate as one with a range
    // open.
    if (open != npos) {
        choice.kind = annotated == 1 ? adoption::outcome::adopted : adoption::outcome::ambiguous;
        choice.open = annotated == 1 ? open : npos;
    }
    return true;
}

adoption adoption_rule::decide(std::int64_t time_ns, thread_id worker, const gpu_op& op) const {
    adoption choice;
    if (choose(by_stream_[op.place], time_ns, worker, choice)) return choice;
    const auto device = by_device_.find(data_.place_of(op).device);
    if (device != by_device_.end()) choose(device->second, time_ns, worker, choice);
    return choice;
}

adoption adoption_rule::decide(std::int64_t time_ns, thread_id worker) const {
    adoption choice;
    choose(launchers_, time_ns, worker, choice);
    return choice;
}

}  // namespace prof
