// SPDX-License-Identifier: Apache-2.0
#include "diagnose/replay/replay.hpp"

#include <algorithm>
#include <type_traits>

#include "base/near_search.hpp"
#include "timeline/nearly_sorted.hpp"

namespace prof {
namespace {

constexpr std::int64_t not_yet = INT64_MIN;

// The changes of one kind, asked for in any order; mostly in ascending order.
template <typename TChange, auto Index>
class change_cursor {
public:
    explicit change_cursor(const std::vector<TChange>& changes) : changes_(&changes) {}

    const TChange* of(std::remove_cvref_t<decltype(TChange{}.*Index)> index) {
        while (next_ < changes_->size() && (*changes_)[next_].*Index < index) ++next_;
        while (next_ > 0 && (next_ == changes_->size() || (*changes_)[next_].*Index > index)) --next_;
        if (next_ < changes_->size() && (*changes_)[next_].*Index < index) ++next_;
        return next_ < changes_->size() && (*changes_)[next_].*Index == index ? &(*changes_)[next_] : nullptr;
    }

private:
    const std::vector<TChange>* changes_;
    std::size_t next_ = 0;
};

class replay {
public:
    replay(const dependency_graph& graph, const replay_changes& changes)
        : graph_(graph),
          events_(graph.events()),
          ops_(graph.data().ops),
          change_of_begin_(changes.events),
          change_of_end_(changes.events),
          change_of_op_(changes.ops),
          begins_ns_(events_.size(), not_yet),
          ends_ns_(events_.size(), not_yet),
          op_ends_ns_(graph.part().end_op - graph.part().first_op, not_yet) {}

    std::int64_t run() {
        std::int64_t total_ns = 0;
        std::size_t position = 0;
        for (const step_run& run : graph_.runs()) {
            run_ = &run;
            first_ns_ = std::max(run.start_ns, run.busy_before_ns);
            last_ns_ = run.start_ns;
            position = play_until(position, run.end_ns);
            std::int64_t host_ns = 0;
            if (run.last_event != npos) {
                host_ns = begin_of(run.last_event) - run.start_ns;
            } else if (!graph_.has_steps()) {
                // Of a window its end counts only as far as something happened there.
                host_ns = latest_end() - run.start_ns;
            }
            // A GPU that had work left when the run began has as much when it ends: that is no time of these steps.
            total_ns += std::max(host_ns - less_before(run), last_ns_ - first_ns_);
        }
        return total_ns;
    }

    // After run().
    std::vector<std::int64_t> steps_ns() const {
        const std::vector<whole_step>& steps = graph_.steps();
        if (!graph_.has_steps()) return {};
        std::vector<std::int64_t> done_ns(steps.size(), INT64_MIN);
        add_ends_on_host(done_ns);
        std::size_t step = 0;
        for (const op_id op : graph_.order()) {
            const host_event_id launch = graph_.launch_of(op);
            if (launch == npos || end_at(op) == not_yet || !graph_.ends_steps(op)) continue;
            const std::int64_t called_ns = events_[launch].start_ns;
            step = partition_point_near(steps.size(), step,
                                        [&](std::size_t at) { return steps[at].start_ns <= called_ns; });
            if (step == 0 || called_ns >= steps[step - 1].end_ns) continue;
            done_ns[step - 1] = std::max(done_ns[step - 1], end_at(op));
        }
        for (const step_run& run : graph_.runs()) {
            std::int64_t before_ns = run.start_ns;
            for (std::size_t i = run.first_step; i < run.first_step + run.steps; ++i) {
                const std::int64_t now_ns = std::max(before_ns, done_ns[i]);
                done_ns[i] = now_ns - before_ns;
                before_ns = now_ns;
            }
        }
        return done_ns;
    }

private:
    // The host waited for operations of the steps before the run, to which nothing is changed. By how much less would
    // it have waited, if these were as those that the GPU had left at the run's end?
    std::int64_t less_before(const step_run& run) {
        if (run.waited_before_ns == 0) return 0;
        row_values<place_id, std::int64_t> less_ns(graph_.data().places.size(), 0);
        std::int64_t most_ns = 0;  // of a stream
        for (const op_id op : run.left) {
            const op_change* const change = change_of_op_.of(op);
            if (change == nullptr) continue;
            const std::int64_t recorded_ns = ops_[op].end_ns - ops_[op].start_ns;
            std::int64_t& of_stream = less_ns[ops_[op].place];
            of_stream += change->leaves_stream() ? recorded_ns : std::min(recorded_ns, change->less_ns);
            most_ns = std::max(most_ns, of_stream);
        }
        return std::min(most_ns, run.waited_before_ns);
    }

    // The events of boundaries: of each run its beginning, and the end of each step.
    void add_ends_on_host(std::vector<std::int64_t>& done_ns) const {
        auto run = graph_.runs().begin();
        std::size_t seen = 0;
        for (host_event_id i{0}; i < events_.size() && run != graph_.runs().end(); ++i) {
            if (events_[i].call != npos) continue;
            if (seen > 0 && seen <= run->steps) done_ns[run->first_step + seen - 1] = begin_of(i);
            ++seen;
            if (i != run->last_event) continue;
            ++run;
            seen = 0;
        }
    }

    // Operations before the run are as recorded; those after its end are left for the next run. Returns the position of
    // the first that is left.
    std::size_t play_until(std::size_t position, std::int64_t end_ns) {
        const std::vector<op_id>& order = graph_.order();
        std::size_t first_left = SIZE_MAX;
        for (; position < order.size(); ++position) {
            const op_id op = order[position];
            if (end_at(op) != not_yet) continue;  // a late one of the run before
            const host_event_id launch = graph_.launch_of(op);
            const std::int64_t called_ns = launch == npos ? graph_.moment_of(op) : events_[launch].start_ns;
            if (called_ns >= end_ns && graph_.moment_of(op) >= end_ns) {
                first_left = std::min(first_left, position);
                // Operations are in order of their start: one that was launched in the run may still follow.
                if (position >= run_->end_position) break;
                continue;
            }
            enter_until(graph_.moment_of(op), launch);
            play(op, called_ns);
        }
        enter_until(end_ns, run_->last_event);
        return std::min(first_left, position);
    }

    void enter_until(std::int64_t ns, host_event_id at_least) {
        while (next_event_ < events_.size() &&
               (events_[next_event_].start_ns <= ns || (at_least != npos && next_event_ <= at_least))) {
            enter(next_event_++);
        }
    }

    std::int64_t& end_at(op_id op) noexcept { return op_ends_ns_[op - graph_.part().first_op]; }
    std::int64_t end_at(op_id op) const noexcept { return op_ends_ns_[op - graph_.part().first_op]; }

    bool is_in_run(std::int64_t recorded_ns) const noexcept { return recorded_ns >= run_->start_ns; }

    void enter(host_event_id index) {
        const host_event& event = events_[index];
        begins_ns_[index] = event.start_ns;
        if (!is_in_run(event.start_ns) || event.before == npos) return;
        const host_event& before = events_[event.before];
        if (!is_in_run(before.start_ns)) return;
        std::int64_t gap_ns = event.start_ns - before.end_ns;
        const event_change* const change = change_of_begin_.of(index);
        if (event.runtime_waits_for != npos) {
            begin_after_wait(index, change);
            return;
        }
        if (change != nullptr) gap_ns = std::max<std::int64_t>(gap_ns - change->gap_less_ns, 0);
        begins_ns_[index] = end_of(event.before) + gap_ns;
    }

    // Work, a wait, and work again.
    void begin_after_wait(host_event_id index, const event_change* change) {
        const host_event& event = events_[index];
        std::int64_t before_ns = event.work_before_wait_ns;
        std::int64_t after_ns = event.start_ns - ops_[event.runtime_waits_for].end_ns;
        const std::int64_t complete_ns = end_of_op(event.runtime_waits_for);
        bool waits = complete_ns != not_yet;
        if (change != nullptr) {
            const std::int64_t less_after_ns = std::min(after_ns, change->gap_less_ns);
            after_ns -= less_after_ns;
            before_ns = std::max<std::int64_t>(before_ns - (change->gap_less_ns - less_after_ns), 0);
            waits = waits && change->runtime_waits;
        }
        begins_ns_[index] = end_of(event.before) + before_ns + after_ns;
        if (!waits) return;
        begins_ns_[index] = std::max(begins_ns_[index], complete_ns + after_ns);
    }

    std::int64_t begin_of(host_event_id index) const noexcept { return begins_ns_[index]; }

    // Not known before all operations are for which it may wait, and so not when it begins.
    std::int64_t end_of(host_event_id index) {
        if (ends_ns_[index] != not_yet) return ends_ns_[index];
        const host_event& event = events_[index];
        if (!is_in_run(event.start_ns)) return ends_ns_[index] = event.end_ns;
        std::int64_t work_ns = event.work_ns;
        const std::int64_t complete_ns = end_of_op(event.waits_for);
        bool waits = complete_ns != not_yet;
        // If clocks differ, it takes as long as it took.
        if (!waits && event.waits_for != npos) work_ns = event.end_ns - event.start_ns;
        if (const event_change* const change = change_of_end_.of(index)) {
            work_ns = std::max<std::int64_t>(work_ns - change->work_less_ns, 0);
            waits = waits && change->waits;
        }
        std::int64_t end_ns = begins_ns_[index] + work_ns;
        if (waits) {
            end_ns = std::max(end_ns, complete_ns + event.after_wait_ns);
            for (const event_later_than& more : graph_.more_waits_of(index)) {
                const std::int64_t ns = end_of_op(more.op);
                if (ns != not_yet) end_ns = std::max(end_ns, ns + more.after_ns);
            }
        }
        return ends_ns_[index] = end_ns;
    }

    // Of one launched before the run, as recorded, whatever has changed in the runs before. not_yet of npos.
    std::int64_t end_of_op(op_id op) const noexcept {
        if (op == npos) return not_yet;
        if (!graph_.part().has_op(op)) return ops_[op].end_ns;
        if (run_ == graph_.runs().data() || end_at(op) == not_yet) return end_at(op);
        const host_event_id launch = graph_.launch_of(op);
        const std::int64_t called_ns = launch == npos ? graph_.moment_of(op) : events_[launch].start_ns;
        return is_in_run(called_ns) ? end_at(op) : ops_[op].end_ns;
    }

    void play(op_id index, std::int64_t called_ns) {
        const gpu_op& op = ops_[index];
        if (!is_in_run(called_ns)) {
            end_at(index) = op.end_ns;
            if (graph_.ends_steps(index)) first_ns_ = std::max(first_ns_, op.end_ns);
            return;
        }
        const op_needs& needs = graph_.needs_of(index);
        std::int64_t length_ns = op.end_ns - op.start_ns;
        const op_change* const change = change_of_op_.of(index);
        if (change != nullptr) {
            length_ns = change->leaves_stream() ? 0 : std::max<std::int64_t>(length_ns - change->less_ns, 0);
        }
        std::int64_t start_ns = end_of_op(needs.previous);
        if (start_ns != not_yet) {
            if (change != nullptr && change->leaves_stream()) {
                // What follows still waits for what it waited for.
                start_ns = std::max(start_ns, end_of_op(needs.other));
                for (const op_later_than& need : graph_.stream_needs_of(index)) {
                    start_ns = std::max(start_ns, end_of_op(need.op));
                }
                end_at(index) = start_ns;
                return;
            }
            if (needs.beside_previous) start_ns -= ops_[needs.previous].end_ns - ops_[needs.previous].start_ns;
            start_ns += needs.after_previous_ns;
            if (change != nullptr) start_ns -= change->next_less_ns;
        }
        if (const host_event_id launch = graph_.launch_of(index); launch != npos) {
            const std::int64_t from_ns = needs.from_return ? end_of(launch) : begin_of(launch);
            start_ns = std::max(start_ns, from_ns + needs.after_launch_ns);
        }
        const bool waits_for_streams = change == nullptr || change->waits_for_streams;
        if (waits_for_streams) start_ns = std::max(start_ns, after_streams(index));
        if (start_ns == not_yet || is_missing(needs.previous) || (waits_for_streams && is_missing(needs.other))) {
            start_ns = std::max(start_ns, as_after_launch(index) - needs.extra_ns);
        }
        end_at(index) = start_ns + needs.extra_ns + length_ns;
        if (graph_.ends_steps(index)) last_ns_ = std::max(last_ns_, end_at(index));
    }

    // The earliest moment at which the operations of other streams are complete for which it waits.
    std::int64_t after_streams(op_id index) const noexcept {
        const op_needs& needs = graph_.needs_of(index);
        std::int64_t ready_ns = end_of_op(needs.other);
        if (ready_ns != not_yet) ready_ns += needs.after_other_ns;
        for (const op_later_than& need : graph_.stream_needs_of(index)) {
            const std::int64_t ns = end_of_op(need.op);
            if (ns != not_yet) ready_ns = std::max(ready_ns, ns + need.after_ns);
        }
        return ready_ns;
    }

    // Launched after the run.
    bool is_missing(op_id op) const noexcept { return op != npos && end_at(op) == not_yet; }

    // As long after its launch as it was.
    std::int64_t as_after_launch(op_id index) const noexcept {
        const host_event_id launch = graph_.launch_of(index);
        if (launch == npos) return ops_[index].start_ns;
        return begin_of(launch) + ops_[index].start_ns - events_[launch].start_ns;
    }

    std::int64_t latest_end() {
        std::int64_t latest_ns = run_->start_ns;
        row_values<thread_id, bool> seen(graph_.data().threads.size());
        for (std::size_t i = next_event_; i > 0; --i) {
            const host_event_id index(i - 1);
            if (!is_in_run(events_[index].start_ns)) break;
            if (seen[events_[index].thread]) continue;
            seen[events_[index].thread] = true;
            latest_ns = std::max(latest_ns, end_of(index));
        }
        return latest_ns;
    }

    const dependency_graph& graph_;
    const row_table<host_event>& events_;
    const row_table<gpu_op>& ops_;
    change_cursor<event_change, &event_change::event> change_of_begin_;
    change_cursor<event_change, &event_change::event> change_of_end_;
    change_cursor<op_change, &op_change::op> change_of_op_;
    row_values<host_event_id, std::int64_t> begins_ns_;
    row_values<host_event_id, std::int64_t> ends_ns_;
    std::vector<std::int64_t> op_ends_ns_;  // by operation
    const step_run* run_ = nullptr;
    // Of operations that end steps: the latest end of one that was launched before the run, ≥ its start, and of one of
    // it.
    std::int64_t first_ns_ = 0;
    std::int64_t last_ns_ = 0;
    host_event_id next_event_{0};
};

}  // namespace

void replay_changes::normalize() {
    sort_nearly_sorted(events, [](const event_change& a, const event_change& b) { return a.event < b.event; });
    std::size_t kept = 0;
    for (const event_change& change : events) {
        if (kept > 0 && events[kept - 1].event == change.event) {
            event_change& into = events[kept - 1];
            into.gap_less_ns += change.gap_less_ns;
            into.work_less_ns += change.work_less_ns;
            into.waits = into.waits && change.waits;
            into.runtime_waits = into.runtime_waits && change.runtime_waits;
        } else {
            events[kept++] = change;
        }
    }
    events.resize(kept);
    sort_nearly_sorted(ops, [](const op_change& a, const op_change& b) { return a.op < b.op; });
    kept = 0;
    for (const op_change& change : ops) {
        if (kept > 0 && ops[kept - 1].op == change.op) {
            ops[kept - 1].less_ns += change.less_ns;
            ops[kept - 1].next_less_ns = std::max(ops[kept - 1].next_less_ns, change.next_less_ns);
            ops[kept - 1].fate = std::max(ops[kept - 1].fate, change.fate);
            ops[kept - 1].waits_for_streams = ops[kept - 1].waits_for_streams && change.waits_for_streams;
        } else {
            ops[kept++] = change;
        }
    }
    ops.resize(kept);
}

void replay_changes::add(const replay_changes& other) {
    events.insert(events.end(), other.events.begin(), other.events.end());
    ops.insert(ops.end(), other.ops.begin(), other.ops.end());
}

std::int64_t replayed_ns(const dependency_graph& graph, const replay_changes& changes,
                         std::vector<std::int64_t>* steps_ns) {
    replay of(graph, changes);
    const std::int64_t total_ns = of.run();
    if (steps_ns != nullptr) *steps_ns = of.steps_ns();
    return total_ns;
}

}  // namespace prof
