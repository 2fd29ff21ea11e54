// SPDX-License-Identifier: Apache-2.0
#include "diagnose/replay/dependency_needs.hpp"

#include <utility>

#include "analysis/breakdown/idle_causes.hpp"
#include "diagnose/replay/dependency_times.hpp"

namespace prof {
namespace {

using namespace dependency_times;

// From an operation's end to one of another stream that needs it, on NVIDIA's GPUs, and at most on any.
constexpr std::int64_t usual_longest_hand_over_ns = 10'000;
constexpr std::int64_t most_hand_over_ns = 60'000;

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

bool is_launched_before(const dependency_events& graph, op_id op, op_id other) noexcept {
    const host_event_id launch = graph.launch_of(op);
    return launch == npos || graph.launch_of(other) == npos || launch <= graph.launch_of(other);
}

// The operation of another stream that ended last before this one began. It was launched first: else none could have
// known of it.
op_id elsewhere(const dependency_events& graph, std::size_t position) {
    const gpu_op& op = graph.data().ops[graph.order()[position]];
    op_id found = npos;
    for (std::size_t back = 1; back <= std::min(position, most_looked_at); ++back) {
        const op_id index = graph.order()[position - back];
        const gpu_op& other = graph.data().ops[index];
        if (other.place == op.place || other.end_ns > op.start_ns ||
            !is_launched_before(graph, index, graph.order()[position]))
            continue;
        if (op.start_ns - other.end_ns > most_hand_over_ns) continue;
        if (found == npos || other.end_ns > graph.data().ops[found].end_ns) found = index;
    }
    return found;
}

}  // namespace

dependency_needs::dependency_needs(const dependency_events& events)
    : data_(&events.data()), first_op_(events.part().first_op) {
    find_stream_needs(events.part());
    measure_usual(events);
    find_needs(events);
}

// Of an operation that began before another one had ended, the records cannot be right.
void dependency_needs::find_stream_needs(const graph_part& part) {
    ops_.resize(part.end_op - part.first_op);
    const auto first = std::lower_bound(data_->stream_waits.begin(), data_->stream_waits.end(), part.first_op,
                                        [](const stream_wait& wait, op_id op) { return wait.op < op; });
    for (auto each = first; each != data_->stream_waits.end() && each->op < part.end_op; ++each) {
        const stream_wait& wait = *each;
        if (!part.has_op(wait.waits_for)) continue;
        const std::int64_t after_ns = data_->ops[wait.op].start_ns - data_->ops[wait.waits_for].end_ns;
        if (after_ns < -clock_tolerance_ns) continue;
        stream_needs_.push_back({wait.op, wait.waits_for, 0});
        ops_[wait.op - part.first_op].has_stream_needs = true;
    }
}

void dependency_needs::measure_usual(const dependency_events& graph) {
    std::vector<std::int64_t> launches;
    std::vector<std::int64_t> nexts;
    std::vector<std::int64_t> hand_overs;
    row_values<place_id, op_id> latest(data_->places.size(), npos);
    for (const op_id index : graph.order()) {
        const gpu_op& op = data_->ops[index];
        const op_id previous = std::exchange(latest[op.place], index);
        const host_event_id launch = graph.launch_of(index);
        if (previous == npos || launch == npos || op.graph_node != npos) continue;
        const std::int64_t free_ns = data_->ops[previous].end_ns;
        const std::int64_t called_ns = graph.events()[launch].start_ns;
        if (op.start_ns - free_ns > held_up_ns && op.start_ns - called_ns <= latency_ns) {
            if (launches.size() < most_samples) launches.push_back(op.start_ns - called_ns);
        } else if (free_ns - called_ns > held_up_ns && op.start_ns >= free_ns && op.start_ns - free_ns <= held_up_ns) {
            if (nexts.size() < most_samples) nexts.push_back(op.start_ns - free_ns);
        }
        const op_id other = latest_stream_need(index);
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
    for (op_later_than& need : stream_needs_) {
        const std::int64_t after_ns = data_->ops[need.what].start_ns - data_->ops[need.op].end_ns;
        need.after_ns = narrow(std::min(after_ns, usual_hand_over_ns_));
    }
}

op_id dependency_needs::latest_stream_need(op_id op) const noexcept {
    op_id latest = npos;
    for (const op_later_than& need : stream_needs_of(op)) {
        if (latest == npos || data_->ops[need.op].end_ns > data_->ops[latest].end_ns) latest = need.op;
    }
    return latest;
}

void dependency_needs::find_needs(const dependency_events& graph) {
    struct unexplained {
        op_id op;
        op_id other;
        std::int64_t after_ns;
    };
    std::vector<unexplained> perhaps_handed_over;
    row_values<place_id, op_id> latest(data_->places.size(), npos);
    for (std::size_t position = 0; position < graph.order().size(); ++position) {
        const op_id index = graph.order()[position];
        const gpu_op& op = data_->ops[index];
        op_needs& needs = ops_[index - first_op_];
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
        if (const host_event_id launch = graph.launch_of(index); launch != npos) {
            const host_event& call = graph.events()[launch];
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
        const op_id recorded = latest_stream_need(index);
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
            const op_id other = elsewhere(graph, position);
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
        op_needs& needs = ops_[each.op - first_op_];
        needs.other = each.other;
        needs.after_other_ns = narrow(each.after_ns);
        needs.extra_ns = {};
    }
}

}  // namespace prof
