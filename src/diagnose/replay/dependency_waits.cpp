// SPDX-License-Identifier: Apache-2.0
#include "diagnose/replay/dependency_waits.hpp"

#include <algorithm>
#include <map>
#include <string_view>
#include <unordered_map>
#include <utility>

#include "analysis/projection/transfer_name.hpp"
#include "base/near_search.hpp"
#include "diagnose/replay/dependency_times.hpp"
#include "record/api_names.hpp"

namespace prof {
namespace {

using namespace dependency_times;

// A GPU's queue holds about 1,024 launches. A launch waits only if the operation for which it waits is far ahead.
constexpr std::uint32_t least_queue = 500;
constexpr std::int64_t usual_return_ns = 5'000;  // from an operation's end to the return of a call that waits for it

// A function of CUDA.
bool is_for_event(const timeline_api_call& call) noexcept {
    return api_name(call.domain, call.cbid).find("Event") != std::string_view::npos;
}

// The operations that threads launched, in order, by the thread for which they work.
class launched_by_thread {
public:
    launched_by_thread(const timeline& data, const row_values<thread_id, thread_id>& homes)
        : data_(&data), homes_(&homes), ops_(data.threads.size()) {}

    void add(const host_event& event) {
        const timeline_api_call& call = data_->api_calls[event.call];
        std::vector<op_id>& of = ops_[(*homes_)[event.thread]];
        for (std::uint32_t i = 0; i < call.op_count; ++i) of.push_back(data_->ops_by_launch[call.first_op + i]);
        if (of.size() > 8 * most_looked_at) of.erase(of.begin(), of.end() - 4 * std::ptrdiff_t{most_looked_at});
    }
    // Latest first, 1 is the latest one: how far back it is; 0: not among the last ones.
    std::size_t distance_to(op_id op, thread_id thread) const {
        const std::vector<op_id>& of = ops_[(*homes_)[thread]];
        for (std::size_t back = 1; back <= std::min(of.size(), most_looked_at); ++back) {
            if (of[of.size() - back] == op) return back;
        }
        return 0;
    }
    // The latest one that had ended, and is at least so far back; npos: none.
    op_id ended_at(std::int64_t ns, std::size_t distance, thread_id thread) const {
        const std::vector<op_id>& of = ops_[(*homes_)[thread]];
        for (std::size_t back = distance; back <= std::min(of.size(), distance + most_looked_at); ++back) {
            if (data_->ops[of[of.size() - back]].end_ns <= ns) return of[of.size() - back];
        }
        return npos;
    }

private:
    const timeline* data_;
    const row_values<thread_id, thread_id>* homes_;
    row_values<thread_id, std::vector<op_id>> ops_;
};

}  // namespace

void dependency_waits::find_waits() {
    find_waiting_allocations();
    std::size_t hint = 0;
    std::vector<std::int64_t> returns;
    auto recorded = std::lower_bound(data_->host_waits.begin(), data_->host_waits.end(), part_.first_call,
                                     [](const host_wait& wait, call_id call) { return wait.call < call; });
    for (host_event& event : events_) {
        if (event.call == npos) continue;
        while (recorded != data_->host_waits.end() && recorded->call < event.call) ++recorded;
        const bool is_recorded = recorded != data_->host_waits.end() && recorded->call == event.call;
        op_id op = is_recorded ? recorded->op : npos;
        if (op != npos && data_->ops[op].end_ns <= event.end_ns + clock_tolerance_ns) {
            event.waits_for = op;
        } else if (is_recorded && event.end_ns - event.start_ns <= held_up_ns) {
            op = npos;  // it waits for nothing; an operation may end in it by chance
        } else {
            op = waited_for(event, hint);
        }
        if (op == npos || data_->ops[op].end_ns <= event.start_ns) continue;
        if (data_->ops[op].start_ns >= event.end_ns) {  // it begins when the call returns, and cannot be waited for
            event.waits_for = npos;
            continue;
        }
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
void dependency_waits::find_waiting_allocations() {
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
        function_calls& of = functions[call.function_key()];
        of.frees = api_name(call.domain, call.cbid).find("Free") != std::string_view::npos;
        const op_id op = ended_by(event, hint);
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

bool dependency_waits::waits_for_work(const timeline_api_call& call) const noexcept {
    if (call.kind == api_class::blocking_allocation) return waiting_allocations_.contains(call.function_key());
    return waits(call.kind);
}

// Whether the operation was launched by the thread, or for it.
bool dependency_waits::is_of_same_host(op_id op, thread_id thread) const noexcept {
    const call_id launch = data_->ops[op].launch;
    return launch != npos && homes_[data_->api_calls[launch].thread] == homes_[thread];
}

// Whether work that its thread had launched goes on after the call. `hint`: of ended_by().
bool dependency_waits::leaves_work(const host_event& event, std::size_t hint) const {
    constexpr std::size_t looked_at = 64;
    const row_table<gpu_op>& ops = data_->ops;
    for (std::size_t i = hint - std::min(hint, looked_at); i < std::min(ops.size(), hint + looked_at); ++i) {
        if (ops[i].end_ns <= event.end_ns + clock_tolerance_ns || ops[i].launch == npos) continue;
        const bool was_launched = data_->api_calls[ops[i].launch].start_ns < event.start_ns;
        if (was_launched && is_of_same_host(op_id(i), event.thread)) return true;
    }
    return false;
}

// A call that found its operations complete would have waited for them, had it come earlier. If they are not recorded
// they are those before the latest launch of its thread, or all of the GPU's for a call that waits for all. An event
// whose place is not recorded stands for as many launches back as where calls waited for one, or for the latest
// operation that was complete.
void dependency_waits::find_needless_waits(std::int64_t usual_ns) {
    const bool knows_events = !data_->host_waits.empty();
    row_values<thread_id, std::size_t> distances(data_->threads.size(), 1);
    if (!knows_events) {
        row_values<thread_id, std::vector<std::int64_t>> seen(data_->threads.size());
        launched_by_thread launched(*data_, homes_);
        for (const host_event& event : events_) {
            if (event.call == npos) continue;
            if (event.has_waited && is_for_event(data_->api_calls[event.call])) {
                const std::size_t distance = launched.distance_to(event.waits_for, event.thread);
                if (distance != 0) seen[homes_[event.thread]].push_back(static_cast<std::int64_t>(distance));
            }
            launched.add(event);
        }
        for (const thread_id i : seen.ids()) {
            distances[i] = static_cast<std::size_t>(median_or(std::move(seen[i]), 1));
        }
    }
    launched_by_thread launched(*data_, homes_);
    row_values<thread_id, op_id> latest(data_->threads.size(), npos);
    op_id last = npos;  // to end, of all
    for (host_event& event : events_) {
        if (event.call == npos) continue;
        const timeline_api_call& call = data_->api_calls[event.call];
        const thread_id thread = homes_[event.thread];
        if (event.waits_for != npos && !event.has_waited) {
            event.after_wait_ns = narrow(std::min(event.end_ns - data_->ops[event.waits_for].end_ns, usual_ns));
        } else if (call.kind == api_class::blocking_allocation && event.waits_for == npos && waits_for_work(call)) {
            // It waits first, and then does its own work (tests/gpu/allocation_waits.py).
            if (last == npos || data_->ops[last].end_ns > event.start_ns) continue;
            event.waits_for = last;
            event.after_wait_ns = narrow(event.end_ns - event.start_ns);
        } else if (call.kind == api_class::wait && event.waits_for == npos) {
            op_id op = waits_for_all(call) ? last : latest[thread];
            if (is_for_event(call)) {
                op = knows_events ? npos : launched.ended_at(event.end_ns, distances[thread], event.thread);
            }
            if (op == npos || data_->ops[op].end_ns > event.end_ns) continue;
            event.waits_for = op;
            event.after_wait_ns = narrow(std::min(event.end_ns - data_->ops[op].end_ns, usual_ns));
        }
        if (call.op_count == 0) continue;
        if (!knows_events) launched.add(event);
        const op_id op = data_->ops_by_launch[call.first_op + call.op_count - 1];
        latest[thread] = op;
        if (last == npos || data_->ops[op].end_ns > data_->ops[last].end_ns) last = op;
    }
}

// A call that waits for all waits for the latest operation of each stream, of those used last.
void dependency_waits::find_more_waits(std::int64_t usual_ns) {
    constexpr std::size_t most_streams = 32;
    row_values<place_id, op_id> latest(data_->places.size(), npos);
    std::vector<place_id> used;  // places, the one used last at the end
    for (const host_event_id i : events_.ids()) {
        host_event& event = events_[i];
        if (event.call == npos) continue;
        const timeline_api_call& call = data_->api_calls[event.call];
        const bool is_free = call.kind == api_class::blocking_allocation && event.has_waited;
        if (event.waits_for != npos && (is_free || waits_for_all(call))) {
            for (std::size_t at = used.size() - std::min(used.size(), most_streams); at < used.size(); ++at) {
                const op_id last = latest[used[at]];
                const std::int64_t after_ns = event.end_ns - data_->ops[last].end_ns;
                if (last == event.waits_for || after_ns < 0) continue;
                event.has_more_waits = true;
                more_waits_.push_back({i, last, narrow(std::min(after_ns, usual_ns))});
            }
        }
        for (std::uint32_t at = 0; at < call.op_count; ++at) {
            const op_id op = data_->ops_by_launch[call.first_op + at];
            const place_id place = data_->ops[op].place;
            if (latest[place] != npos && data_->ops[latest[place]].end_ns > data_->ops[op].end_ns) continue;
            latest[place] = op;
            if (!used.empty() && used.back() == place) continue;
            std::erase(used, place);
            used.push_back(place);
        }
    }
}

op_id dependency_waits::waited_for(const host_event& event, std::size_t& hint) const {
    const timeline_api_call& call = data_->api_calls[event.call];
    const op_id own = call.op_count == 0 ? npos : data_->ops_by_launch[call.first_op];
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
    const op_id ended = ended_by(event, hint);
    return ended != npos && own > ended && own - ended >= least_queue ? ended : npos;
}

bool dependency_waits::waits_for_all(const timeline_api_call& call) const noexcept {
    const std::string_view name = api_name(call.domain, call.cbid);
    return name.starts_with("cudaDeviceSynchronize") || name.starts_with("cuCtxSynchronize");
}

bool dependency_waits::is_to_host(const gpu_op& op) const {
    return op.kind == op_kind::memcpy && direction_of(data_->transfers[op.detail]) == copy_direction::to_host;
}

// Whether XLA's thread copies a value back, which it does when that is there.
bool dependency_waits::copies_back(const host_event& event) const {
    if (!event.is_beside || event.call == npos) return false;
    const timeline_api_call& call = data_->api_calls[event.call];
    return call.op_count > 0 && is_to_host(data_->ops[data_->ops_by_launch[call.first_op]]);
}

void dependency_waits::find_runtime_waits(thread_id thread, const host_activity& host) {
    // At a place where the thread waits, it mostly does something else within so long, or an eighth of the wait, after
    // the operation's end. It may be woken late, or do more then.
    constexpr std::int64_t most_after_ns = 500'000;
    struct place {
        std::vector<std::pair<host_event_id, runtime_wait>> waits;  // by event
        std::size_t soon = 0;
    };
    std::map<std::pair<std::uint16_t, std::uint32_t>, place> places;  // by function; of boundaries as if of none
    std::size_t hint = 0;
    for (const host_event_id i : events_.ids()) {
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
std::optional<dependency_waits::runtime_wait> dependency_waits::runtime_wait_before(const host_event& event,
                                                                                    thread_id thread,
                                                                                    const host_activity& host,
                                                                                    std::size_t& hint) const {
    const row_table<gpu_op>& ops = data_->ops;
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
                        [&](std::int64_t start_ns, std::int64_t end_ns, range_id range) {
                            if (range != npos) return;
                            idle_before_ns += std::max<std::int64_t>(std::min(end_ns, ended_ns) - start_ns, 0);
                            idle_after_ns += std::max<std::int64_t>(end_ns - std::max(start_ns, ended_ns), 0);
                        });
    if (idle_before_ns <= held_up_ns) return {};
    return runtime_wait{.op = op_id(found),
                        .work_before_ns = narrow(ended_ns - from_ns - idle_before_ns),
                        .idle_before_ns = idle_before_ns,
                        .idle_after_ns = idle_after_ns};
}

// The latest operation to end during the call, among those launched before it; those of its own thread first, unless it
// waits for all.
op_id dependency_waits::ended_by(const host_event& event, std::size_t& hint) const {
    const row_table<gpu_op>& ops = data_->ops;
    const bool is_for_all = waits_for_all(data_->api_calls[event.call]);
    hint = partition_point_near(ops.size(), hint, [&](std::size_t op) { return ops[op].start_ns < event.end_ns; });
    op_id of_any = npos;
    op_id of_own = npos;
    for (std::size_t back = 1; back <= std::min(hint, most_looked_at); ++back) {
        const op_id index(hint - back);
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
void dependency_waits::measure_work() {
    struct function_times {
        std::int64_t shortest_ns = INT64_MAX;         // of a call
        std::int64_t shortest_return_ns = INT64_MAX;  // from the end of what it waited for
    };
    std::unordered_map<std::uint64_t, function_times> functions;
    const auto function = [&](const host_event& event) { return data_->api_calls[event.call].function_key(); };
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

}  // namespace prof
