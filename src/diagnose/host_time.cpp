// SPDX-License-Identifier: Apache-2.0
#include "diagnose/host_time.hpp"

#include <algorithm>
#include <map>
#include <tuple>
#include <unordered_map>

#include "analysis/projection/transfer_name.hpp"
#include "base/near_search.hpp"
#include "timeline/launched_ops.hpp"

namespace prof {
namespace {

// What a launch still costs the host when it is asynchronous.
constexpr std::int64_t launch_cost_ns = 10'000;
// At such rates the host copies memory, in bytes a nanosecond. XLA copies arrays of the host into page-locked memory in
// the thread that has called it, before its own thread copies them to the GPU.
constexpr double least_staging_rate = 3;
constexpr double most_staging_rate = 50;
constexpr std::uint64_t least_staged_bytes = 1U << 20;

class host_grouper {
public:
    host_grouper(const dependency_graph& graph, const host_activity& host, code_places& where,
                 const graph_captures& captured)
        : graph_(graph),
          data_(graph.data()),
          host_(host),
          where_(where),
          awaited_(awaited_calls(graph)),
          captured_(captured) {
        find_staged();
    }

    std::vector<host_group> run() {
        const row_table<host_event>& events = graph_.events();
        for (const host_event_id i : events.ids()) {
            // What ends in a step is in it; a stretch over a boundary is divided there by the boundary's event, which
            // may be a little later than the boundary.
            const bool is_boundary = events[i].call == npos && events[i].before != npos;
            const std::int64_t ns = is_boundary ? events[events[i].before].end_ns + 1 : events[i].start_ns;
            find_step(ns);
            if (step_ > 0 && ns <= graph_.steps()[step_ - 1].end_ns) add_gap(i, graph_.first_step() + step_ - 1);
            if (events[i].call == npos) continue;
            find_step(ns + 1);
            if (step_ > 0 && ns < graph_.steps()[step_ - 1].end_ns) add_call(i, graph_.first_step() + step_ - 1);
        }
        place_stretches();
        return sorted_groups(std::move(groups_));
    }

private:
    using group_key = std::tuple<idle_cause, std::uint64_t, code_place_id, copy_direction>;

    // Sets step_ to the number of steps that began before `ns`.
    void find_step(std::int64_t ns) {
        const std::vector<whole_step>& steps = graph_.steps();
        step_ = partition_point_near(steps.size(), step_, [&](std::size_t at) { return steps[at].start_ns < ns; });
    }

    host_group& group_of(idle_cause cause, code_place_id place, call_id call, copy_direction direction) {
        std::uint64_t function = 0;
        if (call != npos && cause != idle_cause::launching) {
            function = data_.api_calls[call].function_key();
        }
        if (cause == idle_cause::launching || cause == idle_cause::loader) place = where_.outermost(place);
        const auto [found, is_new] = groups_.try_emplace(group_key{cause, function, place, direction});
        if (is_new) {
            found->second.cause = cause;
            found->second.place = place;
            found->second.direction = direction;
            if (cause != idle_cause::launching) found->second.call = call;
            if (call != npos) found->second.op_name = operator_of(call);
        }
        return found->second;
    }

    // Copies by XLA's threads, and the stretches of the host before them.
    void find_staged() {
        if (!graph_.has_xla()) return;
        const row_table<host_event>& events = graph_.events();
        for (const host_event& event : events) {
            if (!event.is_beside || event.call == npos || event.before == npos) continue;
            const transfer_record* const copy = copy_of(data_, data_.api_calls[event.call]);
            if (copy == nullptr || direction_of(*copy) != copy_direction::to_device) continue;
            staged_copies& of = staged_[event.before];
            of.bytes += copy->bytes;
            of.until_ns = std::max(of.until_ns, event.start_ns);
        }
        std::erase_if(staged_, [&](const auto& each) {
            const auto ns = static_cast<double>(each.second.until_ns - events[each.first].end_ns);
            const auto bytes = static_cast<double>(each.second.bytes);
            return each.second.bytes < least_staged_bytes || bytes < least_staging_rate * ns ||
                   bytes > most_staging_rate * ns;
        });
    }

    // The time between the call before and this one.
    void add_gap(host_event_id index, std::size_t step) {
        const host_event& event = graph_.events()[index];
        if (event.before == npos) return;
        const host_event& before = graph_.events()[event.before];
        const std::int64_t from_ns = before.end_ns;
        if (from_ns >= event.start_ns || from_ns < graph_.steps().front().start_ns) return;
        if (whole_gap(index) <= launch_bound_ns) {
            const code_place_id place = place_at(event, event.start_ns);
            add_stretch(index, step, cause_at(event, from_ns, place, idle_cause::launching), place, from_ns,
                        event.start_ns);
            return;
        }
        const auto staged = staged_.find(event.before);
        const auto add_range = [&](std::int64_t start_ns, std::int64_t end_ns, range_id range) {
            if (range == npos && event.runtime_waits_for != npos) {
                const std::int64_t waited_ns = std::min(end_ns, data_.ops[event.runtime_waits_for].end_ns);
                if (waited_ns > start_ns) add_runtime_wait(index, step, start_ns, waited_ns);
                start_ns = std::max(start_ns, waited_ns);
                if (start_ns >= end_ns) return;
            }
            if (range == npos && staged != staged_.end()) {
                const std::int64_t until_ns = std::min(end_ns, staged->second.until_ns);
                if (until_ns > start_ns) add_staging(index, step, start_ns, until_ns);
                start_ns = std::max(start_ns, until_ns);
                if (start_ns >= end_ns) return;
            }
            const code_place_id place = range == npos ? code_place_id() : where_.of(range);
            add_stretch(index, step, cause_at(event, start_ns, place, idle_cause::host_code), place, start_ns, end_ns);
        };
        host_.for_each_range(event.thread, home_of(event), from_ns, event.start_ns, add_range);
    }

    bool captures(const host_event& event, std::int64_t ns) const {
        return captured_.contains(event.thread, ns) || captured_.contains(home_of(event), ns);
    }

    idle_cause cause_at(const host_event& event, std::int64_t ns, code_place_id place, idle_cause otherwise) const {
        if (captures(event, ns)) return idle_cause::capturing;
        if (where_.kind(place) == place_kind::loader) return idle_cause::loader;
        return where_.kind(place) == place_kind::compiler ? idle_cause::compiling : otherwise;
    }

    void add_runtime_wait(host_event_id index, std::size_t step, std::int64_t start_ns, std::int64_t end_ns) {
        host_group& group = group_of(idle_cause::waiting, {}, npos, copy_direction::none);
        if (graph_.events()[index].is_beside) return;  // it waits for the value that it copies
        group.tally.add(step, start_ns, end_ns - start_ns);
        group.changes.events.push_back({.event = index, .runtime_waits = false});
    }

    void add_staging(host_event_id index, std::size_t step, std::int64_t start_ns, std::int64_t end_ns) {
        host_group& group = groups_[{idle_cause::pageable_copy, UINT64_MAX, {}, copy_direction::to_device}];
        group.cause = idle_cause::pageable_copy;
        group.direction = copy_direction::to_device;
        group.is_staged = true;
        group.changes.events.push_back({.event = index, .gap_less_ns = end_ns - start_ns});
        if (graph_.events()[index].is_beside) return;
        group.tally.add(step, start_ns, end_ns - start_ns);
        group.bytes += staged_.at(graph_.events()[index].before).bytes;
    }

    // Of a gap that a step's boundary divides, the whole.
    std::int64_t whole_gap(host_event_id index) const {
        const row_table<host_event>& events = graph_.events();
        std::int64_t end_ns = events[index].start_ns;
        host_event_id before = events[index].before;
        while (events[before].call == npos && events[before].before != npos &&
               end_ns - events[before].end_ns <= launch_bound_ns) {
            before = events[before].before;
        }
        if (events[index].call == npos) {
            constexpr std::uint32_t looked_at = 256;
            for (host_event_id i(index + 1); i < events.size() && i - index < looked_at; ++i) {
                if (events[i].thread != events[index].thread) continue;
                end_ns = events[i].start_ns;
                if (events[i].call != npos) break;
            }
        }
        return end_ns - events[before].end_ns;
    }

    // The thread whose ranges count where this one has none.
    thread_id home_of(const host_event& event) const { return graph_.home_of(event.thread); }

    code_place_id place_at(const host_event& event, std::int64_t ns) const {
        const range_id range = host_.range_at(event.thread, home_of(event), ns);
        return range == npos ? code_place_id() : where_.of(range);
    }

    void add_stretch(host_event_id index, std::size_t step, idle_cause cause, code_place_id place,
                     std::int64_t start_ns, std::int64_t end_ns) {
        host_group& group = group_of(cause, place, npos, copy_direction::none);
        if (!graph_.events()[index].is_beside) {
            const bool is_counted = cause != idle_cause::launching || !precedes_launch(index);
            group.tally.add(step, start_ns, end_ns - start_ns, is_counted);
            const host_event& event = graph_.events()[index];
            add_stretch_line(group, index, {step, start_ns, end_ns, is_counted, index}, end_ns != event.start_ns);
            add_states(group, index, end_ns - start_ns);
        }
        group.changes.events.push_back({.event = index, .gap_less_ns = end_ns - start_ns});
    }

    // The call at or after an event of its thread; npos: none was found.
    call_id next_call(host_event_id index) const {
        constexpr std::uint32_t looked_at = 256;
        const row_table<host_event>& events = graph_.events();
        for (host_event_id i = index; i < events.size() && i - index < looked_at; ++i) {
            if (events[i].thread == events[index].thread && events[i].call != npos) return events[i].call;
        }
        return npos;
    }

    struct stretch {
        std::size_t step = 0;
        std::int64_t start_ns = 0;
        std::int64_t end_ns = 0;
        bool is_counted = true;
        host_event_id event = npos;
        bool is_call = false;
    };
    // Stretches of a group that ended at one line: those in which the program was seen at a line, by that, and the
    // others.
    struct stretches_to_line {
        line_tally end{};
        line_tallies seen{};
        std::uint64_t samples = 0;
        std::vector<stretch> unseen{};
    };

    // `line` null: it is not known.
    static void add_to(host_group& group, line_tallies& lines, stack_id stack, const code_line* line,
                       const stretch& of) {
        const std::uint64_t key = line == nullptr ? 0 : key_of(*line);
        if (key != 0) group.event_lines.push_back({of.event, key, of.is_call ? -1 : of.end_ns - of.start_ns});
        line_tally fresh{.stack = key == 0 ? npos : stack};
        if (key != 0) fresh.line = *line;
        const auto [found, _] = lines.try_emplace(key, fresh);
        found->second.tally.add(of.step, of.start_ns, of.end_ns - of.start_ns, of.is_counted);
    }

    struct seen_line {
        stack_id stack = npos;
        const code_line* line = nullptr;
    };
    seen_line line_of_call(call_id call) const {
        const call_stack* const found = stack_of_call(data_, call, stack_role::call);
        if (found == nullptr) return {};
        return {found->stack, own_line(data_, found->stack)};
    }

    // `before`: the call of which this one is the wait, or npos; of one line they occur once.
    void add_call_line(host_group& group, call_id call, call_id before, stretch of) {
        if (group.cause == idle_cause::launching || data_.call_stacks.empty()) return;
        const auto [stack, line] = line_of_call(call);
        if (before != npos) {
            const code_line* const other = line_of_call(before).line;
            const bool is_same = line == nullptr || other == nullptr ? line == other : key_of(*line) == key_of(*other);
            of.is_counted = !is_same;
        }
        of.is_call = true;
        add_to(group, group.lines, stack, line, of);
    }

    // `is_outer`: it lies before the ranges that are open at the call which ended it, so that the line that has made
    // the call may be inside of them.
    void add_stretch_line(host_group& group, host_event_id index, const stretch& of, bool is_outer) {
        if (group.cause == idle_cause::launching || data_.call_stacks.empty()) return;
        const call_id call = next_call(index);
        const call_stack* const end = call == npos ? nullptr : stack_of_call(data_, call, stack_role::before);
        const code_line* const end_line = end == nullptr ? nullptr
                                          : is_outer     ? outer_line(data_, end->stack)
                                                         : own_line(data_, end->stack);
        if (call == npos) return add_to(group, group.lines, npos, nullptr, of);
        stretches_to_line& to = stretches_[&group][end_line == nullptr ? 0 : key_of(*end_line)];
        if (to.end.stack == npos && end_line != nullptr) to.end = {end->stack, *end_line};
        if (!add_seen_lines(group, to, index, call, of)) to.unseen.push_back(of);
    }

    // The lines at which the program was seen in the stretch: each has the time that is nearer to its moments than to
    // others'. False: it was not seen in it.
    bool add_seen_lines(host_group& group, stretches_to_line& to, host_event_id index, call_id call,
                        const stretch& of) {
        const std::int64_t call_ns = data_.api_calls[call].start_ns;
        const std::int64_t length_ns = call_ns - latest_call_end(index);
        seen_line latest{};
        std::int64_t latest_ns = 0;
        stretch piece = of;
        for (const call_stack& seen : stacks_of_call(data_, call, stack_role::during)) {
            const auto seen_ns = call_ns - length_ns +
                                 static_cast<std::int64_t>(static_cast<double>(length_ns) * seen.position / UINT16_MAX);
            const code_line* const line = own_line(data_, seen.stack);
            if (line == nullptr || seen_ns < of.start_ns || seen_ns >= of.end_ns) continue;
            ++to.samples;
            if (latest.line != nullptr && key_of(*latest.line) != key_of(*line)) {
                piece.end_ns = latest_ns + (seen_ns - latest_ns) / 2;
                add_to(group, to.seen, latest.stack, latest.line, piece);
                piece.start_ns = piece.end_ns;
            }
            latest = {seen.stack, line};
            latest_ns = seen_ns;
        }
        if (latest.line == nullptr) return false;
        piece.end_ns = of.end_ns;
        add_to(group, to.seen, latest.stack, latest.line, piece);
        return true;
    }

    // Of a stretch that has several groups each gets its part of the looks.
    void add_states(host_group& group, host_event_id index, std::int64_t ns) {
        if (data_.call_accounts.empty()) return;
        const call_id call = next_call(index);
        const call_account* const found = call == npos ? nullptr : account_of_call(data_, call);
        if (found == nullptr) return;
        group.did.add(*found, ns, data_.api_calls[call].start_ns - latest_call_end(index));
    }

    // When the call before returned on the thread.
    std::int64_t latest_call_end(host_event_id index) const {
        const row_table<host_event>& events = graph_.events();
        host_event_id before = events[index].before;
        while (events[before].call == npos && events[before].before != npos) before = events[before].before;
        return events[before].end_ns;
    }

    // What was seen in some of the stretches to a line stands for the others: each gets one of these lines, so that in
    // the end a line has as large a part of them as it has of those that were seen. Else they are of the line itself.
    void place_stretches() {
        constexpr std::uint64_t least_samples = 2;
        for (auto& [group, ends] : stretches_) {
            for (auto& [_, to] : ends) {
                const bool is_known = to.end.stack != npos;  // else they end at lines that may differ
                if (to.samples < least_samples || !is_known) {
                    for (const stretch& each : to.unseen) {
                        add_to(*group, group->lines, to.end.stack, is_known ? &to.end.line : nullptr, each);
                    }
                    add_lines(group->lines, to.seen);
                    continue;
                }
                place_by_samples(*group, to);
            }
        }
    }

    static void place_by_samples(host_group& group, stretches_to_line& to) {
        double all_ns = 0;
        for (const auto& [_, of] : to.seen) all_ns += static_cast<double>(of.tally.total_ns);
        std::map<std::uint64_t, double> given_ns;
        double sum_ns = 0;
        line_tallies lines = to.seen;
        for (const stretch& each : to.unseen) {
            sum_ns += static_cast<double>(each.end_ns - each.start_ns);
            const auto lacks_ns = [&](const auto& of) {
                return sum_ns * static_cast<double>(of.second.tally.total_ns) / all_ns - given_ns[of.first];
            };
            const auto next = std::max_element(to.seen.begin(), to.seen.end(),
                                               [&](const auto& a, const auto& b) { return lacks_ns(a) < lacks_ns(b); });
            given_ns[next->first] += static_cast<double>(each.end_ns - each.start_ns);
            add_to(group, lines, next->second.stack, &next->second.line, each);
        }
        add_lines(group.lines, lines);
    }

    // A launch and the time before it are one occurrence.
    bool precedes_launch(host_event_id index) const {
        const call_id call = graph_.events()[index].call;
        return call == npos || data_.api_calls[call].kind == api_class::launch;
    }

    void add_call(host_event_id index, std::size_t step) {
        const host_event& event = graph_.events()[index];
        const timeline_api_call& call = data_.api_calls[event.call];
        // A wait for the copy before it belongs to the copy.
        const call_id waited = call.kind == api_class::wait ? copy_waited_for(graph_, event) : npos;
        const call_id named = waited == npos ? event.call : waited;
        const transfer_record* const copy = copy_of(data_, data_.api_calls[named]);
        const copy_direction direction = copy == nullptr ? copy_direction::none : direction_of(*copy);
        const bool holds_up = awaited_[index] || named != event.call;
        idle_cause cause = idle_cause::launching;
        if (call.kind == api_class::wait) cause = idle_cause::waiting;
        if (call.kind == api_class::allocation || call.kind == api_class::blocking_allocation) {
            cause = idle_cause::allocating;
        }
        if (copy != nullptr && holds_up) {
            cause = is_pageable(*copy) ? idle_cause::pageable_copy : idle_cause::blocking_copy;
        }
        const code_place_id place = place_at(event, event.start_ns);
        if (where_.kind(place) == place_kind::compiler) return add_call_of(idle_cause::compiling, index, step, place);
        if (call.is_captured || captures(event, event.start_ns)) {
            return add_call_of(idle_cause::capturing, index, step, place);
        }
        host_group& group = group_of(cause, place, named, direction);
        const bool is_counted = named == event.call;  // a copy and the wait behind it are one occurrence
        group.tally.add(step, event.start_ns, event.end_ns - event.start_ns, is_counted);
        add_call_line(group, event.call, is_counted ? npos : named, {step, event.start_ns, event.end_ns, true, index});
        if (copy != nullptr && is_counted) group.bytes += copy->bytes;
        event_change change{.event = index, .work_less_ns = event.work_ns, .waits = false};
        if (copy != nullptr && holds_up) {
            // It becomes an asynchronous one.
            change.work_less_ns = std::max<std::int64_t>(event.work_ns - launch_cost_ns, 0);
        }
        group.changes.events.push_back(change);
    }

    // Of a compiler that tries its kernels, or of the capture of a graph; it would not run at all.
    void add_call_of(idle_cause cause, host_event_id index, std::size_t step, code_place_id place) {
        const host_event& event = graph_.events()[index];
        host_group& group = group_of(cause, place, npos, copy_direction::none);
        group.tally.add(step, event.start_ns, event.end_ns - event.start_ns);
        add_call_line(group, event.call, npos, {step, event.start_ns, event.end_ns, true, index});
        group.changes.events.push_back({.event = index, .work_less_ns = event.work_ns, .waits = false});
    }

    name_id operator_of(call_id call) const {
        const torch_node_id node = data_.api_calls[call].torch_open;
        return node == npos ? name_id() : data_.ranges[data_.torch_nodes[node].range].name;
    }

    const dependency_graph& graph_;
    const timeline& data_;
    const host_activity& host_;
    code_places& where_;
    row_values<host_event_id, bool> awaited_;  // by index into events
    const graph_captures& captured_;
    struct staged_copies {
        std::uint64_t bytes = 0;
        std::int64_t until_ns = 0;  // when the last of these copies was called
    };
    std::unordered_map<host_event_id, staged_copies> staged_;  // by the event before the stretch
    std::map<group_key, host_group> groups_;
    std::map<host_group*, std::map<std::uint64_t, stretches_to_line>> stretches_;  // by the key of the line
    std::size_t step_ = 0;
};

}  // namespace

void step_tally::add(std::size_t step, std::int64_t at_ns, std::int64_t ns, bool is_counted) {
    total_ns += ns;
    if (is_counted) ++count;
    add_steps({step, step + 1});
    if (ns <= longest_ns) return;
    longest_ns = ns;
    longest_at_ns = at_ns;
}

void step_tally::add_steps(step_range more) {
    // Mostly the latest ones are touched.
    auto from = in_.end();
    if (!in_.empty() && more.first <= in_.back().end) {
        from =
            std::partition_point(in_.begin(), in_.end(), [&](const step_range& each) { return each.end < more.first; });
    }
    auto to = from;
    for (; to != in_.end() && to->first <= more.end; ++to) {
        more.first = std::min(more.first, to->first);
        more.end = std::max(more.end, to->end);
        steps -= to->end - to->first;
    }
    steps += more.end - more.first;
    if (from == to) {
        in_.insert(from, more);
        return;
    }
    *from = more;
    in_.erase(from + 1, to);
}

void step_tally::add(const step_tally& other) {
    total_ns += other.total_ns;
    count += other.count;
    for (const step_range& each : other.in_) add_steps(each);
    if (other.longest_ns <= longest_ns) return;
    longest_ns = other.longest_ns;
    longest_at_ns = other.longest_at_ns;
}

host_group::key host_group::key_in(const timeline& data) const {
    std::uint64_t function = 0;
    if (call != npos) function = data.api_calls[call].function_key();
    return {cause, function, place, direction, after, is_staged};
}

host_group host_group::without_changes() const {
    return {.cause = cause,
            .place = place,
            .call = call,
            .direction = direction,
            .op_name = op_name,
            .bytes = bytes,
            .after = after,
            .is_staged = is_staged,
            .tally = tally,
            .lines = lines,
            .did = did};
}

replay_changes host_group::changes_at(std::uint64_t line) const {
    replay_changes out;
    auto at = changes.events.begin();
    for (const event_line& each : event_lines) {
        if (each.line != line) continue;
        while (at != changes.events.end() && at->event < each.event) ++at;
        if (at == changes.events.end()) break;
        if (at->event != each.event) continue;
        event_change change = *at;
        change.gap_less_ns = std::max<std::int64_t>(each.gap_ns, 0);
        if (each.gap_ns >= 0) {
            change.work_less_ns = 0;
            change.waits = true;
        }
        out.events.push_back(change);
    }
    out.normalize();
    return out;
}

void host_group::add(const host_group& other) {
    bytes += other.bytes;
    tally.add(other.tally);
    add_lines(lines, other.lines);
    did.add(other.did);
}

void add_lines(line_tallies& to, const line_tallies& more) {
    for (const auto& [key, each] : more) {
        const auto [known, is_new] = to.try_emplace(key, each);
        if (!is_new) known->second.tally.add(each.tally);
    }
}

call_id copy_waited_for(const dependency_graph& graph, const host_event& wait) {
    constexpr std::int64_t at_once_ns = 50'000;
    if (wait.before == npos) return npos;
    const host_event& before = graph.events()[wait.before];
    if (before.call == npos || before.thread != wait.thread) return npos;
    if (wait.start_ns - before.end_ns > at_once_ns) return npos;
    const transfer_record* const copy = copy_of(graph.data(), graph.data().api_calls[before.call]);
    if (copy == nullptr) return npos;
    const copy_direction direction = direction_of(*copy);
    const bool has_host = direction == copy_direction::to_device || direction == copy_direction::to_host;
    return has_host ? before.call : npos;
}

bool holds_up_host(const dependency_graph& graph, const host_event& copy) {
    return copy.waits_for != npos || waits(graph.data().api_calls[copy.call].kind);
}

row_values<host_event_id, bool> awaited_calls(const dependency_graph& graph) {
    const row_table<host_event>& events = graph.events();
    row_values<host_event_id, bool> out(events.size());
    for (const host_event_id i : events.ids()) {
        if (events[i].call == npos) continue;
        if (holds_up_host(graph, events[i])) out[i] = true;
        const bool is_wait = graph.data().api_calls[events[i].call].kind == api_class::wait;
        if (is_wait && copy_waited_for(graph, events[i]) != npos) out[events[i].before] = true;
    }
    return out;
}

std::vector<host_group> group_host_time(const dependency_graph& graph, const host_activity& host, code_places& where,
                                        const graph_captures& captured) {
    return host_grouper(graph, host, where, captured).run();
}

}  // namespace prof
