// SPDX-License-Identifier: Apache-2.0
#include "analysis/breakdown/idle_causes.hpp"

#include <algorithm>
#include <set>
#include <vector>

#include "analysis/projection/transfer_name.hpp"

#include "analysis/breakdown/launch_queue.hpp"
#include "timeline/launched_ops.hpp"

namespace prof {

idle_group group_of(idle_cause cause) noexcept {
    switch (cause) {
        case idle_cause::host_code:
        case idle_cause::launching:
        case idle_cause::loader:
        case idle_cause::compiling:
        case idle_cause::capturing:
        case idle_cause::allocating:
        case idle_cause::latency:
            return idle_group::starved;
        case idle_cause::waiting:
        case idle_cause::pageable_copy:
        case idle_cause::blocking_copy:
            return idle_group::blocked;
        case idle_cause::queued:
        case idle_cause::other_gpu:
            return idle_group::dependency;
        case idle_cause::not_started:
        case idle_cause::unknown:
            break;
    }
    return idle_group::residual;
}

std::string_view to_string(idle_group group) noexcept {
    switch (group) {
        case idle_group::starved:
            return "launch-starved";
        case idle_group::blocked:
            return "blocked";
        case idle_group::dependency:
            return "dependency";
        case idle_group::residual:
            break;
    }
    return "residual";
}

std::string_view to_string(idle_cause cause) noexcept {
    switch (cause) {
        case idle_cause::host_code:
            return "host code";
        case idle_cause::launching:
            return "launching";
        case idle_cause::loader:
            return "data loader";
        case idle_cause::compiling:
            return "compiling";
        case idle_cause::capturing:
            return "graph capture";
        case idle_cause::allocating:
            return "allocating";
        case idle_cause::waiting:
            return "waiting";
        case idle_cause::pageable_copy:
            return "pageable copy";
        case idle_cause::blocking_copy:
            return "blocking copy";
        case idle_cause::latency:
            return "launch latency";
        case idle_cause::queued:
            return "kernel to kernel";
        case idle_cause::other_gpu:
            return "another GPU";
        case idle_cause::not_started:
            return "launched, not started";
        case idle_cause::unknown:
            break;
    }
    return "launch not recorded";
}

std::string_view word_for(idle_cause cause) noexcept {
    switch (cause) {
        case idle_cause::host_code:
            return "CPU code";
        case idle_cause::launching:
            return "launches";
        case idle_cause::compiling:
            return "compilation";
        case idle_cause::allocating:
            return "memory calls";
        case idle_cause::waiting:
            return "syncs";
        case idle_cause::pageable_copy:
            return "unpinned copies";
        case idle_cause::blocking_copy:
            return "blocking copies";
        case idle_cause::queued:
            return "short gaps";
        case idle_cause::loader:
        case idle_cause::capturing:
        case idle_cause::latency:
        case idle_cause::other_gpu:
        case idle_cause::not_started:
        case idle_cause::unknown:
            break;
    }
    return to_string(cause);
}

idle_causes::idle_causes(const timeline& data, const attribution& att, const host_activity& host, code_places& where,
                         const whole_steps& of)
    : data_(data),
      att_(att),
      host_(host),
      where_(where),
      step_thread_(of.thread),
      launching_(data, att, host, where, of.steps),
      graph_captures_(data) {
    row_values<place_id, op_id> last(data.places.size(), npos);
    for (const op_id i : data.ops.ids()) {
        if (data.ops[i].launch != npos) last[data.ops[i].place] = i;
    }
    std::set<std::uint32_t> devices;
    for (const place_id place : last.ids()) {
        devices.insert(data.places[place].device);
        if (last[place] == npos) continue;
        const auto [known, is_new] = last_op_.try_emplace(data.places[place].device, last[place]);
        if (!is_new) known->second = std::max(known->second, last[place]);
    }
    has_other_gpus_ = devices.size() > 1;
}

idle_causes::actors idle_causes::who(const idle_gap& gap) const {
    op_id op = gap.next;
    if (op == npos) {
        if (step_thread_ != npos) return {step_thread_, step_thread_};
        const auto last = last_op_.find(gap.device);
        if (last == last_op_.end()) return {};
        op = last->second;
    }
    const call_id launch = data_.ops[op].launch;
    if (launch == npos) return {};
    const thread_id thread = data_.api_calls[launch].thread;
    const thread_id home = adopting_thread(data_, att_, op);
    return {thread, home == npos ? thread : home};
}

bool idle_causes::captures(const actors& by, std::int64_t ns) const {
    return graph_captures_.contains(by.thread, ns) || graph_captures_.contains(by.home, ns);
}

void idle_causes::divide(const idle_gap& gap) {
    const actors by = who(gap);
    if (by.thread == npos) {
        add(gap.start_ns, gap.end_ns, idle_cause::unknown, npos, npos);
        return;
    }
    if (gap.next == npos) {
        before_launch(by, gap.start_ns, gap.end_ns);
        return;
    }
    const timeline_api_call& launch = data_.api_calls[data_.ops[gap.next].launch];
    // Of a launch of several operations (a graph), the host has no part in gaps between these.
    if (first_start_of(data_, launch) < gap.start_ns) {
        after_launch(gap, gap.start_ns);
        return;
    }
    // The clocks of host and GPU agree to about a microsecond, so a call may seem to begin after its operation.
    const std::int64_t called_ns = std::clamp(launch.start_ns, gap.start_ns, gap.end_ns);
    const std::int64_t returned_ns = launch.end_ns == 0 ? gap.end_ns : std::clamp(launch.end_ns, called_ns, gap.end_ns);
    if (called_ns > gap.start_ns) before_launch(by, gap.start_ns, called_ns);
    const call_id call = data_.ops[gap.next].launch;
    add(called_ns, returned_ns, cause_of_call(call), call, host_.range_at(by.thread, by.home, launch.start_ns));
    after_launch(gap, returned_ns);
}

void idle_causes::before_launch(const actors& by, std::int64_t from_ns, std::int64_t to_ns) {
    host_.for_each_call(by.thread, from_ns, to_ns, [&](const host_activity::stretch& own) {
        if (own.call != npos) {
            const idle_cause cause = captures(by, own.start_ns) ? idle_cause::capturing : cause_of_call(own.call);
            add(own.start_ns, own.end_ns, cause, own.call,
                host_.range_at(by.thread, by.home, data_.api_calls[own.call].start_ns));
            return;
        }
        if (by.home == by.thread) {
            in_no_call(by, own.start_ns, own.end_ns, own.whole_ns, by.thread);
            return;
        }
        host_.for_each_call(by.home, own.start_ns, own.end_ns, [&](const host_activity::stretch& at_home) {
            if (at_home.call != npos) {
                add(at_home.start_ns, at_home.end_ns, cause_of_call(at_home.call), at_home.call,
                    host_.range_at(by.thread, by.home, data_.api_calls[at_home.call].start_ns));
            } else {
                in_no_call(by, at_home.start_ns, at_home.end_ns, std::min(own.whole_ns, at_home.whole_ns),
                           own.whole_ns <= at_home.whole_ns ? by.thread : by.home);
            }
        });
    });
}

void idle_causes::in_no_call(const actors& by, std::int64_t from_ns, std::int64_t to_ns, std::int64_t whole_ns,
                             thread_id thread) {
    const auto add_at = [&](std::int64_t start_ns, std::int64_t end_ns, range_id range) {
        const code_place_id place = place_of(range);
        const bool is_scattered = to_ns - from_ns <= longest_scattered_ns && launching_.contains(place);
        const bool is_own_code = whole_ns > launch_bound_ns && !is_scattered;
        idle_cause cause = is_own_code ? idle_cause::host_code : idle_cause::launching;
        if (where_.kind(place) == place_kind::loader) cause = idle_cause::loader;
        if (where_.kind(place) == place_kind::compiler) cause = idle_cause::compiling;
        if (captures(by, start_ns)) cause = idle_cause::capturing;
        add(start_ns, end_ns, cause, npos, range, thread);
    };
    host_.for_each_range(by.thread, by.home, from_ns, to_ns, add_at);
}

// From `from_ns` on, the operation is launched.
void idle_causes::after_launch(const idle_gap& gap, std::int64_t from_ns) {
    if (gap.end_ns - from_ns <= latency_ns) {
        const bool was_queued = from_ns == gap.start_ns;
        add(from_ns, gap.end_ns, was_queued ? idle_cause::queued : idle_cause::latency, npos, npos);
    } else if (another_gpu_ended(gap)) {
        add(from_ns, gap.end_ns, idle_cause::other_gpu, npos, npos);
    } else {
        add(from_ns, gap.end_ns, idle_cause::not_started, npos, npos);
    }
}

bool idle_causes::another_gpu_ended(const idle_gap& gap) const {
    if (!has_other_gpus_) return false;
    // Operations that began long ago may end now. Looking back is limited, so that the cost is.
    constexpr std::uint32_t most = 256;
    for (std::uint32_t back = 1; back <= most && back <= gap.next; ++back) {
        const gpu_op& op = data_.ops[gap.next - back];
        if (data_.place_of(op).device != gap.device && op.end_ns > gap.end_ns - latency_ns &&
            op.end_ns <= gap.end_ns + 1000)
            return true;
    }
    return false;
}

void idle_causes::add(std::int64_t from_ns, std::int64_t to_ns, idle_cause cause, call_id call, range_id range,
                      thread_id thread) {
    if (cause == idle_cause::capturing) call = npos;  // whatever is captured
    if (to_ns > from_ns) pieces_.push_back({from_ns, to_ns, cause, call, range, place_of(range), thread});
}

idle_cause idle_causes::cause_of_call(call_id call) const {
    switch (data_.api_calls[call].kind) {
        case api_class::wait:
            return idle_cause::waiting;
        case api_class::blocking_launch:
            return copies_pageable(call) ? idle_cause::pageable_copy : idle_cause::blocking_copy;
        case api_class::allocation:
        case api_class::blocking_allocation:
            return idle_cause::allocating;
        case api_class::launch:
            break;
        case api_class::begins_graph_capture:
            return idle_cause::capturing;
    }
    if (data_.api_calls[call].is_captured) return idle_cause::capturing;
    return copies_pageable(call) ? idle_cause::pageable_copy : idle_cause::launching;
}

bool idle_causes::copies_pageable(call_id call) const {
    const transfer_record* const copy = copy_of(data_, data_.api_calls[call]);
    return copy != nullptr && is_pageable(*copy);
}

call_id idle_causes::drained_by(const idle_gap& gap) const {
    const actors by = who(gap);
    if (by.thread == npos) return npos;
    const auto waits_in = [&](thread_id thread) {
        const call_id call = host_.call_at(thread, gap.start_ns);
        const bool is_wait = call != npos && waits(data_.api_calls[call].kind);
        return is_wait && data_.api_calls[call].start_ns < gap.start_ns ? call : npos;
    };
    const call_id own = waits_in(by.thread);
    return own != npos || by.home == by.thread ? own : waits_in(by.home);
}

}  // namespace prof
