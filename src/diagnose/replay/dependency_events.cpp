// SPDX-License-Identifier: Apache-2.0
#include "diagnose/replay/dependency_events.hpp"

#include <fnmatch.h>

#include <algorithm>
#include <map>
#include <set>
#include <utility>

#include "base/near_search.hpp"
#include "timeline/nearly_sorted.hpp"
#include "timeline/windows.hpp"

namespace prof {
namespace {

constexpr std::size_t rare_stream = 4;  // at most one of so many steps has work in it

}  // namespace

graph_part whole_of(const timeline& data) noexcept {
    return {.end_call = data.api_calls.end_id(), .end_op = data.ops.end_id()};
}

dependency_events::dependency_events(const timeline& data, const attribution& att, const whole_steps& steps,
                                     const graph_part& part)
    : data_(&data), part_(part) {
    find_runs(steps);
    add_events(steps);
    hand_over(att);
    if (has_steps_ && steps.thread != npos) follow(steps.thread);
    order_ops();
}

void dependency_events::find_runs(const whole_steps& steps) {
    has_steps_ = !steps.steps.empty();
    steps_ = joined_steps(*data_, steps.steps);
    if (!has_steps_) {
        for (const timeline_window& window : data_->windows) {
            if (window.end_ns > window.start_ns) steps_.push_back({window.start_ns, window.end_ns, false, 0});
        }
    }
    for (std::size_t i = 0; i < steps_.size(); ++i) {
        const bool goes_on = i > 0 && has_steps_ && goes_on_at(*data_, steps_, i);
        if (!goes_on) runs_.push_back({.start_ns = steps_[i].start_ns, .first_step = i});
        runs_.back().end_ns = steps_[i].end_ns;
        ++runs_.back().steps;
    }
    if (has_steps_ && !steps.streams.empty()) find_work_beside(steps.streams);
}

// `streams`: whole_steps::streams.
void dependency_events::find_work_beside(const row_values<place_id, bool>& streams) {
    std::vector<op_id> late;
    row_values<place_id, std::size_t> used(streams.size(), 0);    // by place: so many steps have work there
    row_values<place_id, std::size_t> latest(streams.size(), 0);  // the number of the latest of them, from 1
    std::size_t begun = 0;
    for (op_id i = part_.first_op; i < part_.end_op; ++i) {
        const gpu_op& op = data_->ops[i];
        if (streams[op.place]) continue;
        const std::int64_t called_ns = op.launch == npos ? op.start_ns : data_->api_calls[op.launch].start_ns;
        begun = partition_point_near(steps_.size(), begun,
                                     [&](std::size_t at) { return steps_[at].start_ns <= called_ns; });
        if (begun > 0 && std::exchange(latest[op.place], begun) != begun) ++used[op.place];
        // Of what the last step launches one knows it if it takes as long as that step.
        const whole_step& last = steps_.back();
        const std::int64_t done_ns = begun < steps_.size() ? steps_[begun].to_ns() : last.to_ns() + last.length_ns();
        if (op.end_ns > done_ns) late.push_back(i);
    }
    for (const op_id op : late) {
        if (used[data_->ops[op].place] * rare_stream <= steps_.size()) beside_.push_back(op);
    }
}

// Whether a step belongs to the run of the one before it: in one window, with little between them.
bool dependency_events::goes_on_at(const timeline& data, const std::vector<whole_step>& steps, std::size_t step) {
    const whole_step& before = steps[step - 1];
    const std::int64_t between_ns = steps[step].start_ns - before.end_ns;
    return between_ns <= (before.end_ns - before.start_ns) / 10 &&
           window_at(data.windows, before.start_ns) == window_at(data.windows, steps[step].start_ns);
}

std::vector<whole_step> dependency_events::joined_steps(const timeline& data, std::vector<whole_step> steps) {
    for (std::size_t i = 1; i < steps.size(); ++i) {
        if (goes_on_at(data, steps, i)) steps[i - 1].end_ns = steps[i].start_ns;
    }
    return steps;
}

void dependency_events::add_events(const whole_steps& steps) {
    std::vector<std::pair<std::int64_t, std::size_t>> boundaries;  // and the run that ends there, or SIZE_MAX
    if (has_steps_ && steps.thread != npos) {
        for (const whole_step& step : steps_) boundaries.emplace_back(step.start_ns, SIZE_MAX);
        for (std::size_t i = 0; i < runs_.size(); ++i) boundaries.emplace_back(runs_[i].end_ns, i);
        std::stable_sort(boundaries.begin(), boundaries.end(),
                         [](const auto& a, const auto& b) { return a.first < b.first; });
    }
    row_values<thread_id, host_event_id> latest(data_->threads.size(), npos);
    const auto add = [&](host_event event) {
        event.before = std::exchange(latest[event.thread], events_.end_id());
        events_.push_back(event);
    };
    auto boundary = boundaries.begin();
    const auto add_boundaries = [&](std::int64_t until_ns) {
        for (; boundary != boundaries.end() && boundary->first <= until_ns; ++boundary) {
            if (boundary->second != SIZE_MAX) {
                runs_[boundary->second].last_event = events_.end_id();
            }
            std::int64_t ns = boundary->first;
            // A boundary inside a call would be one after it.
            if (const host_event_id before = latest[steps.thread]; before != npos)
                ns = std::max(ns, events_[before].end_ns);
            add({.start_ns = ns, .end_ns = ns, .thread = steps.thread});
        }
    };
    const std::size_t calls = part_.end_call - part_.first_call;
    events_.reserve(calls + boundaries.size());
    event_of_call_.assign(calls, npos);
    for (call_id i = part_.first_call; i < part_.end_call; ++i) {
        const timeline_api_call& call = data_->api_calls[i];
        add_boundaries(call.start_ns);
        const host_event_id before = latest[call.thread];
        if (before != npos && call.start_ns < events_[before].end_ns) {  // inside another call
            event_of_call_[i - part_.first_call] = before;
            continue;
        }
        event_of_call_[i - part_.first_call] = events_.end_id();
        add({.start_ns = call.start_ns,
             .end_ns = std::max(call.start_ns, call.end_ns),
             .call = i,
             .thread = call.thread});
    }
    add_boundaries(INT64_MAX);
}

// Threads whose operations were adopted work for another thread: for the one that adopted most.
void dependency_events::hand_over(const attribution& att) {
    homes_.resize(data_->threads.size());
    for (const thread_id thread : homes_.ids()) homes_[thread] = thread;
    std::map<std::pair<thread_id, thread_id>, std::uint64_t> adopted;  // thread and home → operations
    for (op_id op = part_.first_op; op < part_.end_op; ++op) {
        const thread_id home = adopting_thread(*data_, att, op);
        if (home == npos || data_->ops[op].launch == npos) continue;
        ++adopted[{data_->api_calls[data_->ops[op].launch].thread, home}];
    }
    row_values<thread_id, std::uint64_t> most(data_->threads.size(), 0);
    for (const auto& [threads, ops] : adopted) {
        if (threads.first == threads.second || ops <= most[threads.first]) continue;
        most[threads.first] = ops;
        homes_[threads.first] = threads.second;
    }
    find_homes_outside_ranges(att.adopt_pattern);
    bool is_any_handed_over = false;
    for (const thread_id thread : homes_.ids()) is_any_handed_over |= homes_[thread] != thread;
    if (!is_any_handed_over) return;
    row_values<thread_id, std::vector<host_event_id>> of_thread(data_->threads.size());
    for (const host_event_id i : events_.ids()) of_thread[events_[i].thread].push_back(i);
    for (const thread_id thread : homes_.ids()) {
        if (homes_[thread] == thread) continue;
        const std::vector<host_event_id>& there = of_thread[homes_[thread]];
        std::size_t hint = 0;
        std::size_t latest_gap = SIZE_MAX;
        for (const host_event_id index : of_thread[thread]) {
            host_event& event = events_[index];
            hint = partition_point_near(there.size(), hint,
                                        [&](std::size_t at) { return events_[there[at]].start_ns <= event.start_ns; });
            const bool fits = hint > 0 && events_[there[hint - 1]].end_ns <= event.start_ns && hint < there.size() &&
                              events_[there[hint]].start_ns >= event.end_ns;
            if (!fits) {
                latest_gap = SIZE_MAX;
                continue;
            }
            if (std::exchange(latest_gap, hint) != hint) {
                event.before = there[hint - 1];
                event.is_handed_over = true;
            }
            host_event& next = events_[there[hint]];
            if (!next.is_handed_over || event.end_ns > events_[next.before].end_ns) next.before = index;
            next.is_handed_over = true;
        }
    }
}

// Where the program has no ranges, nothing is adopted: autograd's thread works for the one other thread that launches
// on its GPU.
void dependency_events::find_homes_outside_ranges(const std::string& autograd) {
    if (autograd.empty()) return;
    row_values<thread_id, bool> is_autograd(data_->threads.size());
    bool is_any_alone = false;
    for (const thread_id i : data_->threads.ids()) {
        is_autograd[i] = fnmatch(autograd.c_str(), data_->threads[i].system_name.c_str(), 0) == 0;
        is_any_alone |= is_autograd[i] && homes_[i] == i;
    }
    if (!is_any_alone) return;
    struct launchers {
        std::set<thread_id> autograd;
        std::set<thread_id> others;
    };
    std::map<std::uint32_t, launchers> of_device;
    for (const gpu_op& op : ops_of_part()) {
        if (op.launch == npos) continue;
        const thread_id thread = data_->api_calls[op.launch].thread;
        launchers& of = of_device[data_->place_of(op).device];
        (is_autograd[thread] ? of.autograd : of.others).insert(thread);
    }
    for (const auto& [device, of] : of_device) {
        if (of.others.size() != 1) continue;
        for (const thread_id thread : of.autograd) {
            if (homes_[thread] == thread) homes_[thread] = *of.others.begin();
        }
    }
}

// Threads that launch no kernels follow the one with the steps.
void dependency_events::follow(thread_id thread) {
    row_values<thread_id, bool> launches(data_->threads.size());
    for (const gpu_op& op : ops_of_part()) {
        if (op.launch == npos || (op.kind != op_kind::kernel && op.kind != op_kind::graph)) continue;
        launches[data_->api_calls[op.launch].thread] = true;
    }
    if (!launches[thread]) return;
    std::vector<host_event_id> ended;  // events of `thread`, as far as they have ended
    for (const host_event_id i : events_.ids()) {
        host_event& event = events_[i];
        if (event.thread == thread) ended.push_back(i);
        if (launches[event.thread] || homes_[event.thread] != event.thread) continue;
        auto latest = ended.rbegin();
        while (latest != ended.rend() && events_[*latest].end_ns > event.start_ns) ++latest;
        if (latest == ended.rend()) continue;
        event.before = *latest;
        event.is_handed_over = true;
        event.is_beside = true;
    }
    for (const thread_id other : homes_.ids()) {
        if (!launches[other] && homes_[other] == other) homes_[other] = thread;
    }
}

void dependency_events::order_ops() {
    const index_span<op_id> ops(part_.first_op, part_.end_op);
    order_.assign(ops.begin(), ops.end());
    const auto earlier = [&](op_id a, op_id b) { return moment_of(a) < moment_of(b); };
    sort_nearly_sorted(order_, earlier);
}

std::int64_t dependency_events::moment_of(op_id op) const noexcept {
    const host_event_id launch = launch_of(op);
    const std::int64_t start_ns = data_->ops[op].start_ns;
    return launch == npos ? start_ns : std::max(start_ns, events_[launch].start_ns);
}

// Of each run, the work from before it and the work that it left.
void dependency_events::find_work_across_edges(thread_id thread) {
    std::size_t begun = 0;  // runs
    const auto run_at = [&](std::int64_t ns) {
        begun = partition_point_near(runs_.size(), begun, [&](std::size_t at) { return runs_[at].start_ns <= ns; });
        return begun > 0 && ns < runs_[begun - 1].end_ns ? begun - 1 : SIZE_MAX;
    };
    // By stream, of each run the beginning of its first operation: until then others occupied the stream.
    row_values<place_id, std::vector<std::pair<std::size_t, std::int64_t>>> first_ns(data_->places.size());
    std::vector<std::int64_t> ended_ns(runs_.size() + 1, INT64_MIN);  // by the number of runs that had begun
    for (std::size_t position = 0; position < order_.size(); ++position) {
        const op_id index = order_[position];
        const gpu_op& op = data_->ops[index];
        const host_event_id launch = launch_of(index);
        const std::size_t at = run_at(launch == npos ? op.start_ns : events_[launch].start_ns);
        const bool ends = ends_steps(index);
        if (ends) ended_ns[begun] = std::max(ended_ns[begun], op.end_ns);
        if (begun > 0) runs_[begun - 1].end_position = position + 1;
        if (at == SIZE_MAX) continue;
        step_run& run = runs_[at];
        if (ends && (run.last_op == npos || op.end_ns > data_->ops[run.last_op].end_ns)) run.last_op = index;
        if (launch == npos) continue;
        auto& of_stream = first_ns[op.place];
        if (of_stream.empty() || of_stream.back().first < at) of_stream.emplace_back(at, op.start_ns);
        if (op.end_ns > run.end_ns) run.left.push_back(index);
    }
    for (std::size_t i = 0; i < runs_.size(); ++i) {
        runs_[i].busy_before_ns = std::max(ended_ns[i], i == 0 ? INT64_MIN : runs_[i - 1].busy_before_ns);
        if (i > 0) runs_[i].end_position = std::max(runs_[i].end_position, runs_[i - 1].end_position);
    }
    const auto add = [&](std::size_t at, op_id op, std::int64_t from_ns) {
        if (op == npos) return;
        std::int64_t until_ns = data_->ops[op].end_ns;
        const auto& of_stream = first_ns[data_->ops[op].place];
        const auto found = std::lower_bound(of_stream.begin(), of_stream.end(), std::pair{at, INT64_MIN});
        if (found != of_stream.end() && found->first == at) until_ns = std::min(until_ns, found->second);
        runs_[at].waited_before_ns += std::max<std::int64_t>(until_ns - from_ns, 0);
    };
    for (const host_event& event : events_) {
        const bool waits = event.has_waited || event.runtime_waits_for != npos;
        if (event.thread != thread || event.before == npos || !waits) continue;
        const std::int64_t from_ns = events_[event.before].end_ns;
        const std::size_t at = run_at(from_ns);
        if (at == SIZE_MAX) continue;
        if (event.has_waited) add(at, event.waits_for, event.start_ns);
        if (event.runtime_waits_for != npos) add(at, event.runtime_waits_for, from_ns + event.work_before_wait_ns);
    }
}

}  // namespace prof
