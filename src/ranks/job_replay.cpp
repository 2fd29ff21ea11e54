// SPDX-License-Identifier: Apache-2.0
#include "ranks/job_replay.hpp"

#include <algorithm>
#include <cmath>
#include <tuple>
#include <utility>

namespace prof {
namespace {

constexpr std::uint32_t step_begins = UINT32_MAX;  // an event's `what`: the first step begins

// A local time, changed. `at` moves on with the calls.
double changed(const local_times& times, std::size_t& at, std::int64_t ns) {
    if (times.empty()) return static_cast<double>(ns);
    while (at + 1 < times.size() && times[at + 1].first <= ns) ++at;
    if (ns < times.front().first) return times.front().second - static_cast<double>(times.front().first - ns);
    const auto& [from_ns, to] = times[at];
    if (at + 1 == times.size()) return to + static_cast<double>(ns - from_ns);
    const auto& [next_ns, next_to] = times[at + 1];
    if (next_ns == from_ns) return next_to;
    return to + (next_to - to) * static_cast<double>(ns - from_ns) / static_cast<double>(next_ns - from_ns);
}

}  // namespace

job_replay::job_replay(const job_ranks& job) : job_(job) {
    origin_ns_ = INT64_MAX;
    for (const rank_summary& each : job.ranks) {
        if (!each.steps.empty()) origin_ns_ = std::min(origin_ns_, each.steps.front().from_ns);
    }
    std::uint32_t count = 0;
    for (const rank_summary& each : job.ranks) {
        base_.push_back(count);
        count += static_cast<std::uint32_t>(each.collectives.size());
    }
    group_.assign(count, UINT32_MAX);
    next_.assign(count, UINT32_MAX);
    sibling_.assign(count, UINT32_MAX);
    transfer_.assign(count, 0);
    groups_.reserve(job.matched.size());
    for (const matched_collective& of : job.matched) {
        std::int64_t last_ns = INT64_MIN;
        for (const collective_member& each : job.members_of(of)) {
            last_ns = std::max(last_ns, job.aligned(each.rank, job.at(each).begin_ns));
        }
        last_arrival_.push_back(last_ns);
        std::vector<std::uint32_t> members;
        for (const collective_member& each : job.members_of(of)) {
            const std::uint32_t all = base_[each.rank] + each.collective;
            members.push_back(all);
            group_[all] = static_cast<std::uint32_t>(groups_.size());
            transfer_[all] =
                static_cast<double>(std::max<std::int64_t>(job.aligned(each.rank, job.at(each).end_ns) - last_ns, 0));
        }
        groups_.push_back(std::move(members));
    }
    for (std::uint32_t r = 0; r < job.ranks.size(); ++r) {
        const rank_summary& rank = job.ranks[r];
        for (std::uint32_t c = 0; c < rank.collectives.size(); ++c) {
            const std::uint32_t all = base_[r] + c;
            const rank_collective& is = rank.collectives[c];
            rank_of_.push_back(r);
            if (group_[all] == UINT32_MAX) {
                group_[all] = static_cast<std::uint32_t>(groups_.size());
                transfer_[all] = static_cast<double>(is.end_ns - is.begin_ns);
                groups_.push_back({all});
            }
            if (is.after != UINT32_MAX) sibling_[all] = std::exchange(next_[base_[r] + is.after], all);
        }
    }
    events_.resize(job.ranks.size());
    for (std::uint32_t r = 0; r < job.ranks.size(); ++r) {
        const rank_summary& rank = job.ranks[r];
        if (rank.steps.empty()) continue;
        std::vector<event>& events = events_[r];
        const std::uint32_t first = job.first_step[r];
        for (std::uint32_t c = 0; c < rank.collectives.size(); ++c) {
            const rank_collective& is = rank.collectives[c];
            events.push_back({is.ready_ns - origin_ns_, is.begin_ns, base_[r] + c, event_kind::ready});
        }
        for (const rank_wait& wait : rank.waits) {
            events.push_back({wait.at_ns - origin_ns_, rank.collectives[wait.collective].end_ns,
                              base_[r] + wait.collective, event_kind::wait});
        }
        std::int64_t returned_ns = INT64_MIN;
        for (std::uint32_t l = 0; l < rank.launches.size(); ++l) {
            const rank_launch& launch = rank.launches[l];
            if (launch.returned_ns != returned_ns) {
                returned_ns = launch.returned_ns;
                events.push_back({rank.local_ns(returned_ns) - origin_ns_, returned_ns, l, event_kind::returned});
            }
            events.push_back({launch.at_ns - origin_ns_, launch.begin_ns, l, event_kind::launch});
        }
        // The host may begin the next step while the GPU waits: the step before has that wait.
        const std::int64_t from_ns = rank.after_wait_ns(rank.steps[first].from_ns);
        events.push_back({rank.local_ns(from_ns) - origin_ns_, from_ns, step_begins, event_kind::step});
        for (std::uint32_t s = 0; s < job.steps; ++s) {
            const std::int64_t to_ns = rank.after_wait_ns(rank.steps[first + s].to_ns);
            events.push_back({rank.local_ns(to_ns) - origin_ns_, to_ns, s, event_kind::step});
        }
        std::stable_sort(events.begin(), events.end(), [](const event& a, const event& b) {
            return std::tie(a.at_ns, a.order_ns, a.kind) < std::tie(b.at_ns, b.order_ns, b.kind);
        });
    }
}

double job_replay::transfer_ns(std::size_t matched) const {
    double sum = 0;
    for (const std::uint32_t each : groups_[matched]) sum += transfer_[each];
    return sum / static_cast<double>(groups_[matched].size());
}

replayed_steps job_replay::recorded() const {
    replayed_steps out;
    out.begin_ns = -INFINITY;
    out.end_ns.assign(job_.steps, -INFINITY);
    for (std::uint32_t r = 0; r < job_.ranks.size(); ++r) {
        for (const event& is : events_[r]) {
            if (is.kind != event_kind::step) continue;
            double& at = is.what == step_begins ? out.begin_ns : out.end_ns[is.what];
            at = std::max(at, static_cast<double>(job_.aligned(r, is.order_ns) - origin_ns_));
        }
    }
    return out;
}

replayed_steps job_replay::run(const job_change& change) const { return run(change, nullptr); }

replayed_steps job_replay::run(const job_change& change, replay_log* log) const {
    constexpr double unknown = -INFINITY;
    const std::size_t ranks = job_.ranks.size();
    std::vector<double> ready(group_.size(), unknown), end(group_.size(), unknown);
    std::vector<double> arrival(groups_.size(), unknown);
    std::vector<std::uint32_t> arrived(groups_.size(), 0);
    std::vector<std::size_t> next_event(ranks, 0), place(ranks, 0);
    std::vector<double> waited(ranks, 0);  // added to local times, relative to the origin
    std::vector<std::uint32_t> waits_for(ranks, UINT32_MAX);
    std::vector<bool> is_arrived(group_.size(), false);
    replayed_steps out;
    out.begin_ns = unknown;
    out.end_ns.assign(job_.steps, unknown);
    std::vector<std::uint32_t> runnable, completed;
    struct host_time {
        double returned = 0;  // from its last wait for the GPU
        double local = 0;     // of the GPU then
        std::int64_t at_ns = INT64_MIN;
    };
    std::vector<host_time> host(ranks);
    if (log != nullptr) {
        log->waits.resize(ranks);
        log->arrival.assign(group_.size(), unknown);
    }
    const local_times as_recorded;
    const auto times_of = [&](std::size_t r) -> const local_times& {
        return change.local.empty() ? as_recorded : change.local[r];
    };
    std::vector<const rank_collective*> is_of(group_.size(), nullptr);
    for (std::uint32_t r = 0; r < ranks; ++r) {
        const std::vector<rank_collective>& of = job_.ranks[r].collectives;
        for (std::uint32_t c = 0; c < of.size(); ++c) {
            is_of[base_[r] + c] = &of[c];
        }
        if (events_[r].empty()) continue;
        // Local times are those of the clock before the first wait.
        const std::int64_t first_ns = events_[r].front().at_ns + origin_ns_;
        waited[r] = static_cast<double>(job_.aligned(r, first_ns) - first_ns);
        runnable.push_back(r);
    }

    const auto arrive = [&](std::uint32_t c) {
        if (is_arrived[c] || ready[c] == unknown) return;
        double at = ready[c];
        if (const std::uint32_t after = is_of[c]->after; after != UINT32_MAX) {
            const double before = end[base_[rank_of_[c]] + after];
            if (before == unknown) return;
            at = std::max(at, before + is_of[c]->gap_ns);
        }
        is_arrived[c] = true;
        if (log != nullptr) log->arrival[c] = at;
        const std::uint32_t group = group_[c];
        arrival[group] = std::max(arrival[group], at);
        if (++arrived[group] == groups_[group].size()) completed.push_back(group);
    };
    const auto complete = [&](std::uint32_t group) {
        const double share = group < change.transfer.size() ? change.transfer[group] : 1;
        for (const std::uint32_t c : groups_[group]) end[c] = arrival[group] + share * transfer_[c];
        for (const std::uint32_t c : groups_[group]) {
            for (std::uint32_t next = next_[c]; next != UINT32_MAX; next = sibling_[next]) arrive(next);
            if (waits_for[rank_of_[c]] == c) {
                waits_for[rank_of_[c]] = UINT32_MAX;
                runnable.push_back(rank_of_[c]);
            }
        }
    };

    while (!runnable.empty()) {
        const std::uint32_t r = runnable.back();
        runnable.pop_back();
        const std::vector<event>& events = events_[r];
        while (next_event[r] < events.size()) {
            const event& is = events[next_event[r]];
            const double local = changed(times_of(r), place[r], is.at_ns);
            if (is.kind == event_kind::ready) {
                ready[is.what] = local + waited[r];
                arrive(is.what);
            } else if (is.kind == event_kind::returned) {
                // Where the GPU waits at that moment, so much later than it began to wait.
                const std::int64_t in_wait_ns = is.order_ns - job_.ranks[r].begin_of_wait_ns(is.order_ns);
                host[r] = {local + waited[r] + static_cast<double>(in_wait_ns), local, is.at_ns};
            } else if (is.kind == event_kind::launch) {
                if (host[r].at_ns != INT64_MIN) {
                    double after = static_cast<double>(job_.ranks[r].launches[is.what].launched_after_ns);
                    if (r < change.host_too.size() && change.host_too[r]) {
                        after -= static_cast<double>(is.at_ns - host[r].at_ns) - (local - host[r].local);
                    }
                    waited[r] = std::max(waited[r], host[r].returned + after - local);
                }
            } else if (is.kind == event_kind::step) {
                double& at = is.what == step_begins ? out.begin_ns : out.end_ns[is.what];
                if (log != nullptr && is.what + 1 == job_.steps && local + waited[r] > at) log->last_rank = r;
                at = std::max(at, local + waited[r]);
            } else if (end[is.what] == unknown) {
                waits_for[r] = is.what;
                break;
            } else {
                if (log != nullptr && end[is.what] - local > waited[r]) {
                    log->waits[r].push_back({end[is.what], is.what});
                }
                waited[r] = std::max(waited[r], end[is.what] - local);
            }
            ++next_event[r];
        }
        while (!completed.empty()) {
            const std::uint32_t group = completed.back();
            completed.pop_back();
            complete(group);
        }
        // Records that contradict each other leave ranks that wait for one another: they go on where they were
        // recorded.
        if (!runnable.empty()) continue;
        for (std::uint32_t other = 0; other < ranks; ++other) {
            if (waits_for[other] == UINT32_MAX) continue;
            const std::uint32_t c = waits_for[other];
            waits_for[other] = UINT32_MAX;
            end[c] = static_cast<double>(job_.aligned(other, is_of[c]->end_ns) - origin_ns_);
            runnable.push_back(other);
            break;
        }
    }
    for (std::size_t s = 0; s < out.end_ns.size(); ++s) {
        if (out.end_ns[s] == unknown) out.end_ns[s] = s == 0 ? std::max(out.begin_ns, 0.0) : out.end_ns[s - 1];
    }
    if (out.begin_ns == unknown) out.begin_ns = 0;
    if (log != nullptr) {
        log->ready = std::move(ready);
        log->end = std::move(end);
    }
    return out;
}

std::vector<job_path_piece> job_replay::critical_path() const {
    replay_log log;
    const replayed_steps steps = run({}, &log);
    std::vector<job_path_piece> out;
    if (steps.end_ns.empty()) return out;
    double now = steps.end_ns.back();
    std::uint32_t rank = log.last_rank;
    const auto back_to = [&](double ns, job_path_piece piece) {
        piece.ns = now - std::max(ns, steps.begin_ns);
        now -= std::max(piece.ns, 0.0);
        if (piece.ns > 0) out.push_back(piece);
    };
    // Of a collective that nobody shares its rank's own work is all that is known.
    const auto transfer_of = [&](std::uint32_t collective) {
        const std::uint32_t group = group_[collective];
        return group < job_.matched.size() ? job_path_piece{.matched = group}
                                           : job_path_piece{.rank = rank_of_[collective]};
    };
    while (now > steps.begin_ns) {
        std::vector<held_up>& waits = log.waits[rank];  // those behind are of no more use
        while (!waits.empty() && waits.back().until_ns > now) waits.pop_back();
        if (waits.empty()) break;
        std::uint32_t collective = waits.back().collective;
        back_to(waits.back().until_ns, {.rank = rank});
        waits.pop_back();
        // A collective that the one before it in its stream holds up begins when that has ended.
        for (bool is_held_up = true; is_held_up && now > steps.begin_ns;) {
            const std::vector<std::uint32_t>& members = groups_[group_[collective]];
            const std::uint32_t last = *std::max_element(
                members.begin(), members.end(), [&](auto a, auto b) { return log.arrival[a] < log.arrival[b]; });
            back_to(log.arrival[last], transfer_of(collective));
            rank = rank_of_[last];
            const rank_collective& is = job_.ranks[rank].collectives[last - base_[rank]];
            is_held_up = is.after != UINT32_MAX && log.arrival[last] > log.ready[last];
            if (!is_held_up) continue;
            collective = base_[rank] + is.after;
            back_to(log.end[collective], transfer_of(last));
        }
    }
    back_to(steps.begin_ns, {.rank = rank});
    return out;
}

}  // namespace prof
