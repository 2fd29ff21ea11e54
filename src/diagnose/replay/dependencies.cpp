// SPDX-License-Identifier: Apache-2.0
#include "diagnose/replay/dependencies.hpp"

#include <fnmatch.h>

#include <algorithm>
#include <map>
#include <numeric>
#include <set>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>

#include "analysis/breakdown/idle_causes.hpp"
#include "analysis/projection/transfer_name.hpp"
#include "analysis/projection/xla_phases.hpp"
#include "base/near_search.hpp"
#include "base/statistics.hpp"
#include "record/api_names.hpp"
#include "timeline/nearly_sorted.hpp"
#include "timeline/windows.hpp"

namespace prof {
namespace {

constexpr std::int64_t clock_tolerance_ns = 1'000;  // by which the clocks of host and GPU may differ
// Above this a call that launches was held up, and an operation waited for another stream.
constexpr std::int64_t held_up_ns = 20'000;
// From an operation's end to one of another stream that needs it, on NVIDIA's GPUs, and at most on any.
constexpr std::int64_t usual_longest_hand_over_ns = 10'000;
constexpr std::int64_t most_hand_over_ns = 60'000;
// A GPU's queue holds about 1,024 launches. A launch waits only if the operation for which it waits is far ahead.
constexpr std::uint32_t least_queue = 500;
constexpr std::size_t most_looked_at = 512;
constexpr std::size_t most_samples = 100'000;
constexpr std::int64_t usual_return_ns = 5'000;  // from an operation's end to the return of a call that waits for it

std::int32_t narrow(std::int64_t ns) noexcept {
    return static_cast<std::int32_t>(std::clamp<std::int64_t>(ns, INT32_MIN, INT32_MAX));
}

std::int64_t median_or(std::vector<std::int64_t> values, std::int64_t otherwise) {
    return values.empty() ? otherwise : static_cast<std::int64_t>(median(std::move(values)));
}

// The longest time of a hand-over, of the times between operations that neither their launch nor their stream explains
// and the latest end in another stream. Hand-overs take nearly the same time, on AMD's GPUs 12 to 19 us; coincidences
// take any.
std::int64_t longest_hand_over(std::vector<std::int64_t> times_ns) {
    constexpr std::size_t least = 4;
    std::erase_if(times_ns, [](std::int64_t ns) { return ns <= usual_longest_hand_over_ns; });
    if (times_ns.size() < least) return usual_longest_hand_over_ns;
    std::sort(times_ns.begin(), times_ns.end());
    const std::int64_t middle_ns = times_ns[times_ns.size() / 2];
    const std::int64_t spread_ns = times_ns[times_ns.size() * 3 / 4] - times_ns[times_ns.size() / 4];
    return spread_ns * 2 <= middle_ns ? middle_ns * 2 : usual_longest_hand_over_ns;
}

// A function of CUDA.
std::uint64_t function_of(const timeline_api_call& call) noexcept {
    return std::uint64_t{static_cast<std::uint16_t>(call.domain)} << 32 | call.cbid;
}

bool is_for_event(const timeline_api_call& call) noexcept {
    return api_name(call.domain, call.cbid).find("Event") != std::string_view::npos;
}

// The operations that threads launched, in order, by the thread for which they work.
class launched_by_thread {
public:
    launched_by_thread(const timeline& data, const std::vector<std::uint32_t>& homes)
        : data_(&data), homes_(&homes), ops_(data.threads.size()) {}

    void add(const host_event& event) {
        const timeline_api_call& call = data_->api_calls[event.call];
        std::vector<std::uint32_t>& of = ops_[(*homes_)[event.thread]];
        for (std::uint32_t i = 0; i < call.op_count; ++i) of.push_back(data_->ops_by_launch[call.first_op + i]);
        if (of.size() > 8 * most_looked_at) of.erase(of.begin(), of.end() - 4 * std::ptrdiff_t{most_looked_at});
    }
    // Latest first, 1 is the latest one: how far back it is; 0: not among the last ones.
    std::size_t distance_to(std::uint32_t op, std::uint32_t thread) const {
        const std::vector<std::uint32_t>& of = ops_[(*homes_)[thread]];
        for (std::size_t back = 1; back <= std::min(of.size(), most_looked_at); ++back) {
            if (of[of.size() - back] == op) return back;
        }
        return 0;
    }
    // The latest one that had ended, and is at least so far back; npos: none.
    std::uint32_t ended_at(std::int64_t ns, std::size_t distance, std::uint32_t thread) const {
        const std::vector<std::uint32_t>& of = ops_[(*homes_)[thread]];
        for (std::size_t back = distance; back <= std::min(of.size(), distance + most_looked_at); ++back) {
            if (data_->ops[of[of.size() - back]].end_ns <= ns) return of[of.size() - back];
        }
        return npos;
    }

private:
    const timeline* data_;
    const std::vector<std::uint32_t>* homes_;
    std::vector<std::vector<std::uint32_t>> ops_;
};

}  // namespace

graph_part whole_of(const timeline& data) noexcept {
    return {.end_call = static_cast<std::uint32_t>(data.api_calls.size()),
            .end_op = static_cast<std::uint32_t>(data.ops.size())};
}

dependency_graph::dependency_graph(const timeline& data, const attribution& att, const whole_steps& steps,
                                   const graph_part& part, std::size_t first_step)
    : data_(&data), part_(part), first_step_(first_step) {
    find_runs(steps);
    add_events(steps);
    hand_over(att);
    if (has_steps_ && steps.thread != npos) follow(steps.thread);
    order_ops();
    find_stream_needs();
    find_waits();
    has_xla_ = has_xla_ranges(data);
    if (has_xla_ && has_steps_ && steps.thread != npos) find_runtime_waits(steps.thread, host_activity(data, att));
    measure_work();
    measure_usual();
    find_needs();
    find_work_across_edges(has_steps_ ? steps.thread : npos);
}

void dependency_graph::find_runs(const whole_steps& steps) {
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
}

// Whether a step belongs to the run of the one before it: in one window, with little between them.
bool dependency_graph::goes_on_at(const timeline& data, const std::vector<whole_step>& steps, std::size_t step) {
    const whole_step& before = steps[step - 1];
    const std::int64_t between_ns = steps[step].start_ns - before.end_ns;
    return between_ns <= (before.end_ns - before.start_ns) / 10 &&
           window_at(data.windows, before.start_ns) == window_at(data.windows, steps[step].start_ns);
}

std::vector<whole_step> dependency_graph::joined_steps(const timeline& data, std::vector<whole_step> steps) {
    for (std::size_t i = 1; i < steps.size(); ++i) {
        if (goes_on_at(data, steps, i)) steps[i - 1].end_ns = steps[i].start_ns;
    }
    return steps;
}

void dependency_graph::add_events(const whole_steps& steps) {
    std::vector<std::pair<std::int64_t, std::size_t>> boundaries;  // and the run that ends there, or SIZE_MAX
    if (has_steps_ && steps.thread != npos) {
        for (const whole_step& step : steps_) boundaries.emplace_back(step.start_ns, SIZE_MAX);
        for (std::size_t i = 0; i < runs_.size(); ++i) boundaries.emplace_back(runs_[i].end_ns, i);
        std::stable_sort(boundaries.begin(), boundaries.end(),
                         [](const auto& a, const auto& b) { return a.first < b.first; });
    }
    std::vector<std::uint32_t> latest(data_->threads.size(), npos);
    const auto add = [&](host_event event) {
        event.before = std::exchange(latest[event.thread], static_cast<std::uint32_t>(events_.size()));
        events_.push_back(event);
    };
    auto boundary = boundaries.begin();
    const auto add_boundaries = [&](std::int64_t until_ns) {
        for (; boundary != boundaries.end() && boundary->first <= until_ns; ++boundary) {
            if (boundary->second != SIZE_MAX) {
                runs_[boundary->second].last_event = static_cast<std::uint32_t>(events_.size());
            }
            std::int64_t ns = boundary->first;
            // A boundary inside a call would be one after it.
            if (const std::uint32_t before = latest[steps.thread]; before != npos)
                ns = std::max(ns, events_[before].end_ns);
            add({.start_ns = ns, .end_ns = ns, .thread = steps.thread});
        }
    };
    const std::size_t calls = part_.end_call - part_.first_call;
    events_.reserve(calls + boundaries.size());
    event_of_call_.assign(calls, npos);
    for (std::uint32_t i = part_.first_call; i < part_.end_call; ++i) {
        const timeline_api_call& call = data_->api_calls[i];
        add_boundaries(call.start_ns);
        const std::uint32_t before = latest[call.thread];
        if (before != npos && call.start_ns < events_[before].end_ns) {  // inside another call
            event_of_call_[i - part_.first_call] = before;
            continue;
        }
        event_of_call_[i - part_.first_call] = static_cast<std::uint32_t>(events_.size());
        add({.start_ns = call.start_ns,
             .end_ns = std::max(call.start_ns, call.end_ns),
             .call = i,
             .thread = call.thread});
    }
    add_boundaries(INT64_MAX);
}

// Threads whose operations were adopted work for another thread: for the one that adopted most.
void dependency_graph::hand_over(const attribution& att) {
    homes_.resize(data_->threads.size());
    std::iota(homes_.begin(), homes_.end(), 0U);
    std::map<std::pair<std::uint32_t, std::uint32_t>, std::uint64_t> adopted;  // thread and home → operations
    for (std::size_t op = part_.first_op; op < part_.end_op; ++op) {
        const std::uint32_t home = adopting_thread(*data_, att, op);
        if (home == npos || data_->ops[op].launch == npos) continue;
        ++adopted[{data_->api_calls[data_->ops[op].launch].thread, home}];
    }
    std::vector<std::uint64_t> most(data_->threads.size(), 0);
    for (const auto& [threads, ops] : adopted) {
        if (threads.first == threads.second || ops <= most[threads.first]) continue;
        most[threads.first] = ops;
        homes_[threads.first] = threads.second;
    }
    find_homes_outside_ranges(att.adopt_pattern);
    bool is_any_handed_over = false;
    for (std::uint32_t thread = 0; thread < homes_.size(); ++thread) is_any_handed_over |= homes_[thread] != thread;
    if (!is_any_handed_over) return;
    std::vector<std::vector<std::uint32_t>> of_thread(data_->threads.size());
    for (std::uint32_t i = 0; i < events_.size(); ++i) of_thread[events_[i].thread].push_back(i);
    for (std::uint32_t thread = 0; thread < homes_.size(); ++thread) {
        if (homes_[thread] == thread) continue;
        const std::vector<std::uint32_t>& there = of_thread[homes_[thread]];
        std::size_t hint = 0;
        std::size_t latest_gap = SIZE_MAX;
        for (const std::uint32_t index : of_thread[thread]) {
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
void dependency_graph::find_homes_outside_ranges(const std::string& autograd) {
    if (autograd.empty()) return;
    std::vector<bool> is_autograd(data_->threads.size());
    bool is_any_alone = false;
    for (std::uint32_t i = 0; i < data_->threads.size(); ++i) {
        is_autograd[i] = fnmatch(autograd.c_str(), data_->threads[i].system_name.c_str(), 0) == 0;
        is_any_alone |= is_autograd[i] && homes_[i] == i;
    }
    if (!is_any_alone) return;
    struct launchers {
        std::set<std::uint32_t> autograd;
        std::set<std::uint32_t> others;
    };
    std::map<std::uint32_t, launchers> of_device;
    for (const gpu_op& op : ops_of_part()) {
        if (op.launch == npos) continue;
        const std::uint32_t thread = data_->api_calls[op.launch].thread;
        launchers& of = of_device[data_->place_of(op).device];
        (is_autograd[thread] ? of.autograd : of.others).insert(thread);
    }
    for (const auto& [device, of] : of_device) {
        if (of.others.size() != 1) continue;
        for (const std::uint32_t thread : of.autograd) {
            if (homes_[thread] == thread) homes_[thread] = *of.others.begin();
        }
    }
}

// Threads that launch no kernels follow the one with the steps.
void dependency_graph::follow(std::uint32_t thread) {
    std::vector<bool> launches(data_->threads.size());
    for (const gpu_op& op : ops_of_part()) {
        if (op.launch == npos || (op.kind != op_kind::kernel && op.kind != op_kind::graph)) continue;
        launches[data_->api_calls[op.launch].thread] = true;
    }
    if (!launches[thread]) return;
    std::vector<std::uint32_t> ended;  // events of `thread`, as far as they have ended
    for (std::uint32_t i = 0; i < events_.size(); ++i) {
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
    for (std::uint32_t other = 0; other < homes_.size(); ++other) {
        if (!launches[other] && homes_[other] == other) homes_[other] = thread;
    }
}

void dependency_graph::order_ops() {
    order_.resize(part_.end_op - part_.first_op);
    std::iota(order_.begin(), order_.end(), part_.first_op);
    const auto earlier = [&](std::uint32_t a, std::uint32_t b) { return moment_of(a) < moment_of(b); };
    sort_nearly_sorted(order_, earlier);
}

std::int64_t dependency_graph::moment_of(std::uint32_t op) const noexcept {
    const std::uint32_t launch = launch_of(op);
    const std::int64_t start_ns = data_->ops[op].start_ns;
    return launch == npos ? start_ns : std::max(start_ns, events_[launch].start_ns);
}

void dependency_graph::find_waits() {
    find_waiting_allocations();
    std::size_t hint = 0;
    std::vector<std::int64_t> returns;
    auto recorded = std::lower_bound(data_->host_waits.begin(), data_->host_waits.end(), part_.first_call,
                                     [](const host_wait& wait, std::uint32_t call) { return wait.call < call; });
    for (host_event& event : events_) {
        if (event.call == npos) continue;
        while (recorded != data_->host_waits.end() && recorded->call < event.call) ++recorded;
        const bool is_recorded = recorded != data_->host_waits.end() && recorded->call == event.call;
        std::uint32_t op = is_recorded ? recorded->op : npos;
        if (op != npos && data_->ops[op].end_ns <= event.end_ns + clock_tolerance_ns) {
            event.waits_for = op;
        } else if (is_recorded && event.end_ns - event.start_ns <= held_up_ns) {
            op = npos;  // it waits for nothing; an operation may end in it by chance
        } else {
            op = waited_for(event, hint);
        }
        if (op == npos || data_->ops[op].end_ns <= event.start_ns) continue;
        const std::int64_t return_ns = event.end_ns - data_->ops[op].end_ns;
        if (return_ns != narrow(return_ns)) continue;
        event.waits_for = op;
        event.after_wait_ns = narrow(return_ns);
        event.has_waited = true;
        if (waits(data_->api_calls[event.call].kind) && returns.size() < most_samples) returns.push_back(return_ns);
    }
    const std::int64_t usual_ns = median_or(std::move(returns), usual_return_ns);
    find_needless_waits(usual_ns);
    find_more_waits(usual_ns);
}

// Whether a function that allocates or frees waits for the GPU: by its calls, and where none had work to wait for, by
// its name. On NVIDIA's GPUs those that allocate return while work runs, and those that free wait for it.
void dependency_graph::find_waiting_allocations() {
    constexpr std::size_t rare = 10;
    constexpr std::size_t least_calls = 3;
    struct function_calls {
        std::size_t left_work = 0;    // returned before work of their thread was done
        std::size_t saw_end = 0;      // work ended during the call
        std::size_t ended_there = 0;  // and then it returned
        bool frees = false;
    };
    std::map<std::uint64_t, function_calls> functions;
    std::size_t hint = 0;
    for (const host_event& event : events_) {
        if (event.call == npos) continue;
        const timeline_api_call& call = data_->api_calls[event.call];
        if (call.kind != api_class::blocking_allocation) continue;
        function_calls& of = functions[function_of(call)];
        of.frees = api_name(call.domain, call.cbid).find("Free") != std::string_view::npos;
        const std::uint32_t op = ended_by(event, hint);
        if (leaves_work(event, hint)) {
            ++of.left_work;
        } else if (op != npos) {
            ++of.saw_end;
            if (event.end_ns - data_->ops[op].end_ns <= held_up_ns) ++of.ended_there;
        }
    }
    for (const auto& [function, of] : functions) {
        if (rare * of.left_work > of.left_work + of.saw_end) continue;
        if (of.frees || (of.ended_there >= least_calls && 2 * of.ended_there > of.saw_end)) {
            waiting_allocations_.insert(function);
        }
    }
}

bool dependency_graph::waits_for_work(const timeline_api_call& call) const noexcept {
    if (call.kind == api_class::blocking_allocation) return waiting_allocations_.contains(function_of(call));
    return waits(call.kind);
}

// Whether the operation was launched by the thread, or for it.
bool dependency_graph::is_of_same_host(std::uint32_t op, std::uint32_t thread) const noexcept {
    const std::uint32_t launch = data_->ops[op].launch;
    return launch != npos && homes_[data_->api_calls[launch].thread] == homes_[thread];
}

// Whether work that its thread had launched goes on after the call. `hint`: of ended_by().
bool dependency_graph::leaves_work(const host_event& event, std::size_t hint) const {
    constexpr std::size_t looked_at = 64;
    const std::vector<gpu_op>& ops = data_->ops;
    for (std::size_t i = hint - std::min(hint, looked_at); i < std::min(ops.size(), hint + looked_at); ++i) {
        if (ops[i].end_ns <= event.end_ns + clock_tolerance_ns || ops[i].launch == npos) continue;
        const bool was_launched = data_->api_calls[ops[i].launch].start_ns < event.start_ns;
        if (was_launched && is_of_same_host(static_cast<std::uint32_t>(i), event.thread)) return true;
    }
    return false;
}

// A call that found its operations complete would have waited for them, had it come earlier. If they are not recorded
// they are those before the latest launch of its thread, or all of the GPU's for a call that waits for all. An event
// whose place is not recorded stands for as many launches back as where calls waited for one, or for the latest
// operation that was complete.
void dependency_graph::find_needless_waits(std::int64_t usual_ns) {
    const bool knows_events = !data_->host_waits.empty();
    std::vector<std::size_t> distances(data_->threads.size(), 1);
    if (!knows_events) {
        std::vector<std::vector<std::int64_t>> seen(data_->threads.size());
        launched_by_thread launched(*data_, homes_);
        for (const host_event& event : events_) {
            if (event.call == npos) continue;
            if (event.has_waited && is_for_event(data_->api_calls[event.call])) {
                const std::size_t distance = launched.distance_to(event.waits_for, event.thread);
                if (distance != 0) seen[homes_[event.thread]].push_back(static_cast<std::int64_t>(distance));
            }
            launched.add(event);
        }
        for (std::size_t i = 0; i < seen.size(); ++i) {
            distances[i] = static_cast<std::size_t>(median_or(std::move(seen[i]), 1));
        }
    }
    launched_by_thread launched(*data_, homes_);
    std::vector<std::uint32_t> latest(data_->threads.size(), npos);
    std::uint32_t last = npos;  // to end, of all
    for (host_event& event : events_) {
        if (event.call == npos) continue;
        const timeline_api_call& call = data_->api_calls[event.call];
        const std::uint32_t thread = homes_[event.thread];
        if (event.waits_for != npos && !event.has_waited) {
            event.after_wait_ns = narrow(std::min(event.end_ns - data_->ops[event.waits_for].end_ns, usual_ns));
        } else if (call.kind == api_class::wait && event.waits_for == npos) {
            std::uint32_t op = waits_for_all(call) ? last : latest[thread];
            if (is_for_event(call)) {
                op = knows_events ? npos : launched.ended_at(event.end_ns, distances[thread], event.thread);
            }
            if (op == npos || data_->ops[op].end_ns > event.end_ns) continue;
            event.waits_for = op;
            event.after_wait_ns = narrow(std::min(event.end_ns - data_->ops[op].end_ns, usual_ns));
        }
        if (call.op_count == 0) continue;
        if (!knows_events) launched.add(event);
        const std::uint32_t op = data_->ops_by_launch[call.first_op + call.op_count - 1];
        latest[thread] = op;
        if (last == npos || data_->ops[op].end_ns > data_->ops[last].end_ns) last = op;
    }
}

// A call that waits for all waits for the latest operation of each stream, of those used last.
void dependency_graph::find_more_waits(std::int64_t usual_ns) {
    constexpr std::size_t most_streams = 32;
    std::vector<std::uint32_t> latest(data_->places.size(), npos);
    std::vector<std::uint32_t> used;  // places, the one used last at the end
    for (std::uint32_t i = 0; i < events_.size(); ++i) {
        host_event& event = events_[i];
        if (event.call == npos) continue;
        const timeline_api_call& call = data_->api_calls[event.call];
        const bool is_free = call.kind == api_class::blocking_allocation && event.has_waited;
        if (event.waits_for != npos && (is_free || waits_for_all(call))) {
            for (std::size_t at = used.size() - std::min(used.size(), most_streams); at < used.size(); ++at) {
                const std::uint32_t last = latest[used[at]];
                const std::int64_t after_ns = event.end_ns - data_->ops[last].end_ns;
                if (last == event.waits_for || after_ns < 0) continue;
                event.has_more_waits = true;
                more_waits_.push_back({i, last, narrow(std::min(after_ns, usual_ns))});
            }
        }
        for (std::uint32_t at = 0; at < call.op_count; ++at) {
            const std::uint32_t op = data_->ops_by_launch[call.first_op + at];
            const std::uint32_t place = data_->ops[op].place;
            if (latest[place] != npos && data_->ops[latest[place]].end_ns > data_->ops[op].end_ns) continue;
            latest[place] = op;
            if (!used.empty() && used.back() == place) continue;
            std::erase(used, place);
            used.push_back(place);
        }
    }
}

std::uint32_t dependency_graph::waited_for(const host_event& event, std::size_t& hint) const {
    const timeline_api_call& call = data_->api_calls[event.call];
    const std::uint32_t own = call.op_count == 0 ? npos : data_->ops_by_launch[call.first_op];
    if (own != npos && data_->ops[own].kind == op_kind::memcpy) {
        // A copy from pageable memory returns when the last of it is in the driver's buffer, just before the operation
        // ends; a long call of this kind waited for the copy's turn.
        const gpu_op& copy = data_->ops[own];
        const bool has_ended = copy.end_ns > event.start_ns && copy.end_ns <= event.end_ns + clock_tolerance_ns;
        const bool was_held_up = event.end_ns - event.start_ns > held_up_ns && copy.start_ns < event.end_ns;
        if (has_ended || was_held_up) return own;
    }
    if (waits(call.kind)) return waits_for_work(call) ? ended_by(event, hint) : npos;
    if (own == npos || event.end_ns - event.start_ns <= held_up_ns) return npos;
    const std::uint32_t ended = ended_by(event, hint);
    return ended != npos && own > ended && own - ended >= least_queue ? ended : npos;
}

bool dependency_graph::waits_for_all(const timeline_api_call& call) const noexcept {
    const std::string_view name = api_name(call.domain, call.cbid);
    return name.starts_with("cudaDeviceSynchronize") || name.starts_with("cuCtxSynchronize");
}

bool dependency_graph::is_to_host(const gpu_op& op) const {
    return op.kind == op_kind::memcpy && direction_of(data_->transfers[op.detail]) == copy_direction::to_host;
}

// Whether XLA's thread copies a value back, which it does when that is there.
bool dependency_graph::copies_back(const host_event& event) const {
    if (!event.is_beside || event.call == npos) return false;
    const timeline_api_call& call = data_->api_calls[event.call];
    return call.op_count > 0 && is_to_host(data_->ops[data_->ops_by_launch[call.first_op]]);
}

void dependency_graph::find_runtime_waits(std::uint32_t thread, const host_activity& host) {
    // At a place where the thread waits, it mostly does something else within so long, or an eighth of the wait, after
    // the operation's end. It may be woken late, or do more then.
    constexpr std::int64_t most_after_ns = 500'000;
    struct place {
        std::vector<std::pair<std::uint32_t, runtime_wait>> waits;  // by event
        std::size_t soon = 0;
    };
    std::map<std::pair<std::uint16_t, std::uint32_t>, place> places;  // by function; of boundaries as if of none
    std::size_t hint = 0;
    for (std::uint32_t i = 0; i < events_.size(); ++i) {
        const host_event& event = events_[i];
        if (event.before == npos || (event.thread != thread && !copies_back(event))) continue;
        const std::optional<runtime_wait> wait = runtime_wait_before(event, thread, host, hint);
        if (!wait) continue;
        std::pair<std::uint16_t, std::uint32_t> function{UINT16_MAX, npos};
        if (event.call != npos) {
            const timeline_api_call& call = data_->api_calls[event.call];
            function = {static_cast<std::uint16_t>(call.domain), call.cbid};
        }
        place& of = places[function];
        of.waits.emplace_back(i, *wait);
        if (wait->idle_after_ns <= std::max(most_after_ns, wait->idle_before_ns / 8)) ++of.soon;
    }
    for (const auto& [function, of] : places) {
        if (2 * of.soon < of.waits.size()) continue;
        for (const auto& [event, wait] : of.waits) {
            events_[event].runtime_waits_for = wait.op;
            events_[event].work_before_wait_ns = wait.work_before_ns;
        }
    }
}

// A wait in XLA's runtime between the event before and `event`, if there may have been one.
std::optional<dependency_graph::runtime_wait> dependency_graph::runtime_wait_before(const host_event& event,
                                                                                    std::uint32_t thread,
                                                                                    const host_activity& host,
                                                                                    std::size_t& hint) const {
    const std::vector<gpu_op>& ops = data_->ops;
    const std::int64_t from_ns = events_[event.before].end_ns;
    if (event.start_ns - from_ns <= held_up_ns) return {};
    hint = partition_point_near(ops.size(), hint, [&](std::size_t op) { return ops[op].start_ns < event.start_ns; });
    std::size_t found = SIZE_MAX;
    for (std::size_t back = 1; back <= std::min(hint, most_looked_at); ++back) {
        const gpu_op& op = ops[hint - back];
        if (op.end_ns <= from_ns || op.end_ns > event.start_ns) continue;
        // What another thread launched meanwhile is a value that this one needs, or nothing to it.
        const bool is_later = op.launch != npos && data_->api_calls[op.launch].start_ns >= from_ns;
        if (is_later && !is_to_host(op)) continue;
        if (found == SIZE_MAX || op.end_ns > ops[found].end_ns) found = hint - back;
    }
    if (found == SIZE_MAX) return {};
    const std::int64_t ended_ns = ops[found].end_ns;
    std::int64_t idle_before_ns = 0;
    std::int64_t idle_after_ns = 0;
    host.for_each_range(thread, from_ns, event.start_ns,
                        [&](std::int64_t start_ns, std::int64_t end_ns, std::uint32_t range) {
                            if (range != npos) return;
                            idle_before_ns += std::max<std::int64_t>(std::min(end_ns, ended_ns) - start_ns, 0);
                            idle_after_ns += std::max<std::int64_t>(end_ns - std::max(start_ns, ended_ns), 0);
                        });
    if (idle_before_ns <= held_up_ns) return {};
    return runtime_wait{.op = static_cast<std::uint32_t>(found),
                        .work_before_ns = narrow(ended_ns - from_ns - idle_before_ns),
                        .idle_before_ns = idle_before_ns,
                        .idle_after_ns = idle_after_ns};
}

// The latest operation to end during the call, among those launched before it; those of its own thread first, unless it
// waits for all.
std::uint32_t dependency_graph::ended_by(const host_event& event, std::size_t& hint) const {
    const std::vector<gpu_op>& ops = data_->ops;
    const bool is_for_all = waits_for_all(data_->api_calls[event.call]);
    hint = partition_point_near(ops.size(), hint, [&](std::size_t op) { return ops[op].start_ns < event.end_ns; });
    std::uint32_t of_any = npos;
    std::uint32_t of_own = npos;
    for (std::size_t back = 1; back <= std::min(hint, most_looked_at); ++back) {
        const auto index = static_cast<std::uint32_t>(hint - back);
        const gpu_op& op = ops[index];
        if (op.end_ns <= event.start_ns || op.end_ns > event.end_ns + clock_tolerance_ns) continue;
        if (op.launch != npos && data_->api_calls[op.launch].start_ns >= event.start_ns) continue;
        if (of_any == npos || op.end_ns > ops[of_any].end_ns) of_any = index;
        const bool is_own = is_of_same_host(index, event.thread);
        if (is_own && (of_own == npos || op.end_ns > ops[of_own].end_ns)) of_own = index;
    }
    if (is_for_all) return of_any;
    // In a short call an operation of another thread may end by chance.
    return of_own != npos || event.end_ns - event.start_ns <= held_up_ns ? of_own : of_any;
}

// A function takes as long as its shortest call.
void dependency_graph::measure_work() {
    struct function_times {
        std::int64_t shortest_ns = INT64_MAX;         // of a call
        std::int64_t shortest_return_ns = INT64_MAX;  // from the end of what it waited for
    };
    std::unordered_map<std::uint64_t, function_times> functions;
    const auto function = [&](const host_event& event) { return function_of(data_->api_calls[event.call]); };
    for (const host_event& event : events_) {
        if (event.call == npos || event.end_ns == event.start_ns) continue;
        function_times& of = functions[function(event)];
        of.shortest_ns = std::min(of.shortest_ns, event.end_ns - event.start_ns);
        if (event.has_waited)
            of.shortest_return_ns = std::min<std::int64_t>(of.shortest_return_ns, event.after_wait_ns);
    }
    for (host_event& event : events_) {
        constexpr std::int64_t usual_call_ns = 10'000;  // if every call of the function waited
        event.work_ns = event.end_ns - event.start_ns;
        if (!event.has_waited) continue;
        const function_times& of = functions[function(event)];
        const std::int64_t most_ns = std::max(usual_call_ns, of.shortest_return_ns);
        event.work_ns = std::min({event.work_ns, of.shortest_ns, most_ns});
    }
}

void dependency_graph::measure_usual() {
    std::vector<std::int64_t> launches;
    std::vector<std::int64_t> nexts;
    std::vector<std::int64_t> hand_overs;
    std::vector<std::uint32_t> latest(data_->places.size(), npos);
    for (const std::uint32_t index : order_) {
        const gpu_op& op = data_->ops[index];
        const std::uint32_t previous = std::exchange(latest[op.place], index);
        const std::uint32_t launch = launch_of(index);
        if (previous == npos || launch == npos || op.graph_node != npos) continue;
        const std::int64_t free_ns = data_->ops[previous].end_ns;
        const std::int64_t called_ns = events_[launch].start_ns;
        if (op.start_ns - free_ns > held_up_ns && op.start_ns - called_ns <= latency_ns) {
            if (launches.size() < most_samples) launches.push_back(op.start_ns - called_ns);
        } else if (free_ns - called_ns > held_up_ns && op.start_ns >= free_ns && op.start_ns - free_ns <= held_up_ns) {
            if (nexts.size() < most_samples) nexts.push_back(op.start_ns - free_ns);
        }
        const std::uint32_t other = latest_stream_need(index);
        if (other == npos) continue;
        const std::int64_t done_ns = data_->ops[other].end_ns;
        const bool was_held_up = done_ns - std::max(called_ns, free_ns) > held_up_ns && op.start_ns >= done_ns;
        if (was_held_up && op.start_ns - done_ns <= held_up_ns && hand_overs.size() < most_samples) {
            hand_overs.push_back(op.start_ns - done_ns);
        }
    }
    usual_launch_ns_ = median_or(std::move(launches), usual_launch_ns_);
    usual_next_ns_ = median_or(std::move(nexts), usual_next_ns_);
    usual_hand_over_ns_ = median_or(std::move(hand_overs), usual_next_ns_ + 500);
    for (later_than& need : stream_needs_) {
        const std::int64_t after_ns = data_->ops[need.what].start_ns - data_->ops[need.op].end_ns;
        need.after_ns = narrow(std::min(after_ns, usual_hand_over_ns_));
    }
}

// Of an operation that began before another one had ended, the records cannot be right.
void dependency_graph::find_stream_needs() {
    ops_.resize(part_.end_op - part_.first_op);
    const auto first = std::lower_bound(data_->stream_waits.begin(), data_->stream_waits.end(), part_.first_op,
                                        [](const stream_wait& wait, std::uint32_t op) { return wait.op < op; });
    for (auto each = first; each != data_->stream_waits.end() && each->op < part_.end_op; ++each) {
        const stream_wait& wait = *each;
        if (!part_.has_op(wait.waits_for)) continue;
        const std::int64_t after_ns = data_->ops[wait.op].start_ns - data_->ops[wait.waits_for].end_ns;
        if (after_ns < -clock_tolerance_ns) continue;
        stream_needs_.push_back({wait.op, wait.waits_for, 0});
        ops_[wait.op - part_.first_op].has_stream_needs = true;
    }
}

// Of each run, the work from before it and the work that it left.
void dependency_graph::find_work_across_edges(std::uint32_t thread) {
    std::size_t begun = 0;  // runs
    const auto run_at = [&](std::int64_t ns) {
        begun = partition_point_near(runs_.size(), begun, [&](std::size_t at) { return runs_[at].start_ns <= ns; });
        return begun > 0 && ns < runs_[begun - 1].end_ns ? begun - 1 : SIZE_MAX;
    };
    // By stream, of each run the beginning of its first operation: until then others occupied the stream.
    std::vector<std::vector<std::pair<std::size_t, std::int64_t>>> first_ns(data_->places.size());
    std::vector<std::int64_t> ended_ns(runs_.size() + 1, INT64_MIN);  // by the number of runs that had begun
    for (std::size_t position = 0; position < order_.size(); ++position) {
        const std::uint32_t index = order_[position];
        const gpu_op& op = data_->ops[index];
        const std::uint32_t launch = launch_of(index);
        const std::size_t at = run_at(launch == npos ? op.start_ns : events_[launch].start_ns);
        ended_ns[begun] = std::max(ended_ns[begun], op.end_ns);
        if (begun > 0) runs_[begun - 1].end_position = position + 1;
        if (at == SIZE_MAX) continue;
        step_run& run = runs_[at];
        if (run.last_op == npos || op.end_ns > data_->ops[run.last_op].end_ns) run.last_op = index;
        if (launch == npos) continue;
        auto& of_stream = first_ns[op.place];
        if (of_stream.empty() || of_stream.back().first < at) of_stream.emplace_back(at, op.start_ns);
        if (op.end_ns > run.end_ns) run.left.push_back(index);
    }
    for (std::size_t i = 0; i < runs_.size(); ++i) {
        runs_[i].busy_before_ns = std::max(ended_ns[i], i == 0 ? INT64_MIN : runs_[i - 1].busy_before_ns);
        if (i > 0) runs_[i].end_position = std::max(runs_[i].end_position, runs_[i - 1].end_position);
    }
    const auto add = [&](std::size_t at, std::uint32_t op, std::int64_t from_ns) {
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

std::span<const later_than> dependency_graph::those_of(const std::vector<later_than>& list,
                                                       std::uint32_t what) noexcept {
    const auto [first, last] =
        std::equal_range(list.begin(), list.end(), later_than{.what = what},
                         [](const later_than& a, const later_than& b) { return a.what < b.what; });
    return {first, last};
}

std::uint32_t dependency_graph::latest_stream_need(std::uint32_t op) const noexcept {
    std::uint32_t latest = npos;
    for (const later_than& need : stream_needs_of(op)) {
        if (latest == npos || data_->ops[need.op].end_ns > data_->ops[latest].end_ns) latest = need.op;
    }
    return latest;
}

void dependency_graph::find_needs() {
    struct unexplained {
        std::uint32_t op;
        std::uint32_t other;
        std::int64_t after_ns;
    };
    std::vector<unexplained> perhaps_handed_over;
    std::vector<std::uint32_t> latest(data_->places.size(), npos);
    for (std::size_t position = 0; position < order_.size(); ++position) {
        const std::uint32_t index = order_[position];
        const gpu_op& op = data_->ops[index];
        op_needs& needs = ops_[index - part_.first_op];
        needs.previous = latest[op.place];
        if (needs.previous == npos || op.end_ns >= data_->ops[needs.previous].end_ns) latest[op.place] = index;
        // How long after each it began; INT64_MAX: there is no such.
        std::int64_t after_previous_ns = INT64_MAX;
        if (needs.previous != npos) {
            const gpu_op& previous = data_->ops[needs.previous];
            needs.beside_previous = op.start_ns < previous.end_ns - clock_tolerance_ns;
            after_previous_ns = op.start_ns - (needs.beside_previous ? previous.start_ns : previous.end_ns);
            needs.after_previous_ns = narrow(std::min(after_previous_ns, usual_next_ns_));
        }
        std::int64_t after_launch_ns = INT64_MAX;
        if (const std::uint32_t launch = launch_of(index); launch != npos) {
            const host_event& call = events_[launch];
            needs.from_return = call.end_ns - call.start_ns > held_up_ns && op.start_ns >= call.end_ns;
            after_launch_ns = op.start_ns - (needs.from_return ? call.end_ns : call.start_ns);
            needs.after_launch_ns = narrow(std::min(after_launch_ns, needs.from_return ? 0 : usual_launch_ns_));
        }
        const bool was_queued = after_launch_ns - after_previous_ns > held_up_ns;
        const std::int64_t soon_ns = std::max<std::int64_t>(3 * usual_next_ns_, 3'000);
        // The launch explains when it began.
        const bool is_launched = !needs.beside_previous && after_previous_ns > usual_next_ns_ &&
                                 after_launch_ns >= usual_launch_ns_ - clock_tolerance_ns &&
                                 after_launch_ns <= usual_launch_ns_ + clock_tolerance_ns;
        const bool is_next =
            needs.beside_previous || after_previous_ns <= soon_ns || (was_queued && after_previous_ns <= latency_ns);
        const std::uint32_t recorded = latest_stream_need(index);
        const std::int64_t after_recorded_ns = recorded == npos ? INT64_MAX : op.start_ns - data_->ops[recorded].end_ns;
        const bool is_handed_over =
            after_recorded_ns <= latency_ns && !needs.beside_previous &&
            after_recorded_ns - usual_hand_over_ns_ <=
                std::min(after_previous_ns - usual_next_ns_, after_launch_ns - usual_launch_ns_);
        if (is_handed_over) {
            needs.other = recorded;
            needs.after_other_ns = narrow(after_recorded_ns);
        } else if (is_next && !is_launched) {
            needs.after_previous_ns = narrow(after_previous_ns);
        } else if (is_launched || after_launch_ns <= latency_ns) {
            needs.after_launch_ns = narrow(after_launch_ns);
        } else {
            std::int64_t ready_ns = INT64_MIN;
            if (after_previous_ns != INT64_MAX) ready_ns = op.start_ns - after_previous_ns + needs.after_previous_ns;
            if (after_launch_ns != INT64_MAX) {
                ready_ns = std::max(ready_ns, op.start_ns - after_launch_ns + needs.after_launch_ns);
            }
            if (ready_ns != INT64_MIN) needs.extra_ns = op.start_ns - ready_ns;
            const std::uint32_t other = elsewhere(position);
            if (other != npos) {
                perhaps_handed_over.push_back({index, other, op.start_ns - data_->ops[other].end_ns});
            }
        }
    }
    std::vector<std::int64_t> times_ns;
    for (const unexplained& each : perhaps_handed_over) {
        if (times_ns.size() < most_samples) times_ns.push_back(each.after_ns);
    }
    const std::int64_t longest_ns = longest_hand_over(std::move(times_ns));
    for (const unexplained& each : perhaps_handed_over) {
        if (each.after_ns > longest_ns) continue;
        op_needs& needs = ops_[each.op - part_.first_op];
        needs.other = each.other;
        needs.after_other_ns = narrow(each.after_ns);
        needs.extra_ns = {};
    }
}

bool dependency_graph::is_launched_before(std::uint32_t op, std::uint32_t other) const noexcept {
    const std::uint32_t launch = launch_of(op);
    return launch == npos || launch_of(other) == npos || launch <= launch_of(other);
}

// The operation of another stream that ended last before this one began. It was launched first: else none could have
// known of it.
std::uint32_t dependency_graph::elsewhere(std::size_t position) const {
    const gpu_op& op = data_->ops[order_[position]];
    std::uint32_t found = npos;
    for (std::size_t back = 1; back <= std::min(position, most_looked_at); ++back) {
        const std::uint32_t index = order_[position - back];
        const gpu_op& other = data_->ops[index];
        if (other.place == op.place || other.end_ns > op.start_ns || !is_launched_before(index, order_[position]))
            continue;
        if (op.start_ns - other.end_ns > most_hand_over_ns) continue;
        if (found == npos || other.end_ns > data_->ops[found].end_ns) found = index;
    }
    return found;
}

}  // namespace prof
