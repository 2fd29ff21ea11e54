// SPDX-License-Identifier: Apache-2.0
#include "diagnose/replay/critical_path.hpp"

#include <algorithm>

namespace prof {
namespace {

constexpr std::int64_t longest_return_ns = 50'000;  // from a wait in XLA's runtime
constexpr std::size_t most_at_one_moment = 10'000;  // events and operations that the path passes without going back

class path_finder {
public:
    explicit path_finder(const dependency_graph& graph)
        : graph_(graph), events_(graph.events()), ops_(graph.data().ops) {}

    std::vector<path_piece> find() {
        std::size_t from = 0;
        for (const step_run& run : graph_.runs()) {
            run_ = &run;
            from = pieces_.size();
            start();
            std::size_t left = most_at_one_moment;
            while (now_ns_ > first_ns_) {
                const std::int64_t before_ns = now_ns_;
                if (event_ == npos && op_ == npos) {
                    if (!resume()) break;
                } else {
                    go_back();
                }
                // Damaged times may lead in circles.
                left = now_ns_ < before_ns ? most_at_one_moment : left - 1;
                if (left == 0) {
                    event_ = npos;
                    op_ = npos;
                }
            }
            add(first_ns_, path_kind::not_explained, npos, npos);
            std::reverse(pieces_.begin() + static_cast<std::ptrdiff_t>(from), pieces_.end());
        }
        return std::move(pieces_);
    }

private:
    enum class side : std::uint8_t { begin, end };

    // At the end of the run: at its last boundary, or at the end of its last operation if that is later.
    void start() {
        event_ = run_->last_event;
        op_ = npos;
        side_ = side::begin;
        first_ns_ = run_->start_ns;
        std::int64_t latest_ns = event_ == npos ? INT64_MIN : events_[event_].start_ns;
        if (event_ == npos && !graph_.has_steps()) {
            event_ = last_event_of_window();
            side_ = side::end;
            if (event_ != npos) latest_ns = events_[event_].end_ns;
        }
        if (run_->last_op != npos && ops_[run_->last_op].end_ns > latest_ns) {
            op_ = run_->last_op;
            latest_ns = ops_[op_].end_ns;
        }
        if (op_ != npos) {
            event_ = npos;
            // As in the replay: a GPU that is behind at the end was so at the beginning; but the path is not shorter
            // than the steps are on the host.
            first_ns_ = std::min(std::max(run_->start_ns, run_->busy_before_ns), latest_ns);
            if (run_->last_event != npos) {
                first_ns_ = std::min(first_ns_, latest_ns - (events_[run_->last_event].start_ns - run_->start_ns));
            }
        }
        now_ns_ = latest_ns;
    }

    // What led to this moment is not known: no launch of an operation, say, that is the first of its stream. The path
    // goes on with what the thread of the steps had done before. False if it had done nothing.
    bool resume() {
        if (run_->last_event == npos) return false;
        const thread_id thread = events_[run_->last_event].thread;
        auto from = std::lower_bound(events_.begin(), events_.end(), now_ns_,
                                     [](const host_event& each, std::int64_t ns) { return each.start_ns < ns; });
        while (from != events_.begin()) {
            --from;
            if (from->thread != thread || from->end_ns >= now_ns_) continue;
            add(from->end_ns, path_kind::not_explained, npos, npos);
            event_ = host_event_id(from - events_.begin());
            side_ = side::end;
            return true;
        }
        return false;
    }

    host_event_id last_event_of_window() const {
        host_event_id last = npos;
        for (const host_event_id i : events_.ids()) {
            if (events_[i].start_ns < run_->start_ns || events_[i].end_ns > run_->end_ns) continue;
            if (last == npos || events_[i].end_ns > events_[last].end_ns) last = i;
        }
        return last;
    }

    void go_back() {
        if (op_ != npos) {
            before_op();
        } else if (side_ == side::end) {
            before_end();
        } else {
            before_begin();
        }
    }

    void before_begin() {
        const host_event& event = events_[event_];
        if (event.before == npos) {
            add(run_->start_ns, path_kind::host_code, event_, npos);
            event_ = npos;
            return;
        }
        if (event.runtime_waits_for != npos) {
            // The thread is woken, and goes on.
            const std::int64_t complete_ns = ops_[event.runtime_waits_for].end_ns;
            add(std::min(now_ns_, complete_ns + longest_return_ns), path_kind::host_code, event_, npos);
            add(complete_ns, path_kind::wait_return, event_, event.runtime_waits_for);
            op_ = event.runtime_waits_for;
            event_ = npos;
            return;
        }
        const bool is_other_thread = events_[event.before].thread != event.thread;
        add(events_[event.before].end_ns, is_other_thread ? path_kind::hand_over : path_kind::host_code, event_, npos);
        event_ = event.before;
        side_ = side::end;
    }

    void before_end() {
        const host_event& event = events_[event_];
        const bool has_waited = event.waits_for != npos &&
                                ops_[event.waits_for].end_ns + event.after_wait_ns > event.start_ns + event.work_ns;
        if (has_waited) {
            add(ops_[event.waits_for].end_ns, path_kind::wait_return, event_, event.waits_for);
            op_ = event.waits_for;
            event_ = npos;
            return;
        }
        add(event.start_ns, path_kind::call, event_, npos);
        side_ = side::begin;
    }

    // The operation itself, and what it waited for last.
    void before_op() {
        const op_id index = op_;
        const gpu_op& op = ops_[index];
        const op_needs& needs = graph_.needs_of(index);
        add(op.start_ns, path_kind::operation, npos, index);
        add(op.start_ns - needs.extra_ns, path_kind::not_explained, npos, index);
        const std::int64_t ready_ns = op.start_ns - needs.extra_ns;
        std::int64_t latest_ns = INT64_MIN;
        if (needs.other != npos) {
            latest_ns = ops_[needs.other].end_ns + needs.after_other_ns;
            op_ = needs.other;
        } else {
            op_ = npos;
        }
        path_kind kind = path_kind::other_stream;
        if (needs.previous != npos) {
            const gpu_op& previous = ops_[needs.previous];
            const std::int64_t ns =
                (needs.beside_previous ? previous.start_ns : previous.end_ns) + needs.after_previous_ns;
            if (ns > latest_ns) {
                latest_ns = ns;
                op_ = needs.previous;
                kind = path_kind::next_operation;
            }
        }
        if (const host_event_id launch = graph_.launch_of(index); launch != npos) {
            const host_event& call = events_[launch];
            const std::int64_t from_ns = needs.from_return ? call.end_ns : call.start_ns;
            if (from_ns + needs.after_launch_ns > latest_ns) {
                add(std::min(from_ns, ready_ns), path_kind::launch_latency, launch, index);
                op_ = npos;
                event_ = launch;
                side_ = needs.from_return ? side::end : side::begin;
                return;
            }
        }
        if (op_ != npos) add(std::min(ops_[op_].end_ns, ready_ns), kind, npos, index);
    }

    // The path was at now_ns_, and comes from `from_ns`.
    void add(std::int64_t from_ns, path_kind kind, host_event_id event, op_id op) {
        from_ns = std::max(from_ns, first_ns_);
        if (from_ns >= now_ns_) return;
        pieces_.push_back({from_ns, now_ns_, kind, event, op});
        now_ns_ = from_ns;
    }

    const dependency_graph& graph_;
    const row_table<host_event>& events_;
    const row_table<gpu_op>& ops_;
    const step_run* run_ = nullptr;
    host_event_id event_ = npos;  // where the path is: at a side of this event, or at the end of this operation
    op_id op_ = npos;
    side side_ = side::begin;
    std::int64_t first_ns_ = 0;  // where the path begins
    std::int64_t now_ns_ = 0;
    std::vector<path_piece> pieces_;
};

}  // namespace

std::string_view to_string(path_kind kind) noexcept {
    switch (kind) {
        case path_kind::host_code:
            return "CPU code";
        case path_kind::call:
            return "CUDA call";
        case path_kind::hand_over:
            return "hand-over between threads";
        case path_kind::launch_latency:
            return "launch latency";
        case path_kind::operation:
            return "GPU operation";
        case path_kind::next_operation:
            return "short gap";
        case path_kind::other_stream:
            return "another stream";
        case path_kind::wait_return:
            return "return from a wait";
        case path_kind::not_explained:
            break;
    }
    return "not explained";
}

std::vector<path_piece> critical_path(const dependency_graph& graph) { return path_finder(graph).find(); }

}  // namespace prof
