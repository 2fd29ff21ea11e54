// SPDX-License-Identifier: Apache-2.0
#include "ranks/own_work.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <utility>

#include "ranks/join_key.hpp"
#include "ranks/robust.hpp"

namespace prof {
namespace {

constexpr double errors_beyond = 3;     // standard errors
constexpr std::size_t most_peers = 31;  // with which a rank's usual excess is compared

// The mean of the steps in the middle by their whole difference: of stretches it adds up to that of the step.
std::vector<double> mean_of_middle(const std::vector<std::vector<double>>& by_step) {
    std::vector<std::pair<double, std::size_t>> order;
    for (std::size_t s = 0; s < by_step.size(); ++s) {
        order.emplace_back(std::accumulate(by_step[s].begin(), by_step[s].end(), 0.0), s);
    }
    std::sort(order.begin(), order.end());
    const std::size_t outside = order.size() / 4;
    std::vector<double> out(by_step.front().size(), 0);
    const auto count = static_cast<double>(order.size() - 2 * outside);
    for (std::size_t at = outside; at + outside < order.size(); ++at) {
        const std::vector<double>& is = by_step[order[at].second];
        for (std::size_t i = 0; i < out.size(); ++i) out[i] += is[i] / count;
    }
    return out;
}

}  // namespace

own_work::own_work(const job_ranks& job, std::int64_t origin_ns) : job_(job), origin_ns_(origin_ns) {
    const std::size_t ranks = job.ranks.size();
    marks_.resize(ranks);
    first_mark_.resize(ranks);
    typical_.resize(ranks);
    shape_.assign(ranks, std::vector<std::uint64_t>(job.steps, 0));
    for (std::uint32_t r = 0; r < ranks; ++r) add_marks(r);
    has_peers_.assign(ranks, std::vector<bool>(job.steps, false));
    compare({}, [&](std::uint32_t rank, std::uint32_t step, std::size_t stretch, double typical) {
        typical_[rank][first_mark_[rank][step] + stretch] = typical;
        has_peers_[rank][step] = true;
    });
}

bool own_work::has_any_peers(std::uint32_t rank) const {
    return std::find(has_peers_[rank].begin(), has_peers_[rank].end(), true) != has_peers_[rank].end();
}

void own_work::add_marks(std::uint32_t r) {
    const rank_summary& rank = job_.ranks[r];
    in_step_.emplace_back();
    if (rank.steps.empty()) return;
    // In the order of the calls.
    std::vector<std::uint32_t> order(rank.collectives.size());
    std::iota(order.begin(), order.end(), 0U);
    std::stable_sort(order.begin(), order.end(), [&](std::uint32_t a, std::uint32_t b) {
        return rank.collectives[a].enqueued_ns < rank.collectives[b].enqueued_ns;
    });
    std::size_t next = 0;
    const std::uint32_t first = job_.first_step[r];
    std::vector<std::int64_t>& marks = marks_[r];
    for (std::uint32_t s = 0; s < job_.steps; ++s) {
        const std::uint32_t step = first + s;
        first_mark_[r].push_back(static_cast<std::uint32_t>(marks.size()));
        const std::int64_t to_ns = rank.local_ns(rank.steps[step].to_ns);
        std::int64_t at_ns = rank.local_ns(rank.steps[step].from_ns);
        if (!marks.empty()) at_ns = std::max(at_ns, marks.back());
        marks.push_back(at_ns);
        join_key shape;
        // Those that no step has lie between steps, or before the first.
        while (next < order.size() && rank.collectives[order[next]].step != step &&
               rank.collectives[order[next]].enqueued_ns < rank.steps[step].host_to_ns) {
            ++next;
        }
        for (; next < order.size() && rank.collectives[order[next]].step == step; ++next) {
            const rank_collective& is = rank.collectives[order[next]];
            at_ns = std::clamp(is.ready_ns, at_ns, std::max(at_ns, to_ns));
            marks.push_back(at_ns);
            in_step_[r].push_back(order[next]);
            shape.add(static_cast<std::uint64_t>(is.function)).add(is.members).add(std::uint64_t{is.receives});
        }
        marks.push_back(std::max(at_ns, to_ns));
        shape_[r][s] = shape.value();
    }
    first_mark_[r].push_back(static_cast<std::uint32_t>(marks.size()));
    typical_[r].assign(marks.size(), 0);
}

// The median of the peers, for each stretch. `among`: of these ranks, compared with the others; empty: of each rank,
// compared with all but itself.
template <typename TTake>
void own_work::compare(const std::set<std::uint32_t>& among, TTake&& take) const {
    std::map<std::uint64_t, std::vector<std::uint32_t>> by_shape;
    std::vector<std::pair<double, std::uint32_t>> values;
    for (std::uint32_t s = 0; s < job_.steps; ++s) {
        by_shape.clear();
        for (std::uint32_t r = 0; r < job_.ranks.size(); ++r) {
            if (!first_mark_[r].empty()) by_shape[shape_[r][s]].push_back(r);
        }
        for (const auto& [shape, ranks] : by_shape) {
            if (ranks.size() < 2) continue;
            for (std::size_t i = 0; i < stretches(ranks.front(), s); ++i) {
                values.clear();
                for (const std::uint32_t r : ranks) {
                    if (among.empty() || !among.contains(r)) values.emplace_back(length(r, s, i), r);
                }
                if (values.empty()) continue;
                std::sort(values.begin(), values.end());
                if (!among.empty()) {
                    const double middle = (values[(values.size() - 1) / 2].first + values[values.size() / 2].first) / 2;
                    for (const std::uint32_t r : ranks) {
                        if (among.contains(r)) take(r, s, i, middle);
                    }
                    continue;
                }
                const std::size_t others = values.size() - 1;
                for (std::size_t own = 0; own < values.size(); ++own) {
                    // Of those without itself.
                    const auto at = [&](std::size_t i2) { return values[i2 < own ? i2 : i2 + 1].first; };
                    take(values[own].second, s, i, (at((others - 1) / 2) + at(others / 2)) / 2);
                }
            }
        }
    }
}

std::vector<own_work::typical_lengths> own_work::typical_without(const std::set<std::uint32_t>& among) const {
    std::vector<typical_lengths> out(job_.ranks.size());
    for (const std::uint32_t r : among) out[r].assign(marks_[r].size(), NAN);
    compare(among, [&](std::uint32_t rank, std::uint32_t step, std::size_t stretch, double typical) {
        out[rank][first_mark_[rank][step] + stretch] = typical;
    });
    return out;
}

std::vector<double> own_work::excess(std::uint32_t rank, const typical_lengths& typical) const {
    std::vector<double> out(job_.steps, NAN);
    for (std::uint32_t s = 0; s < job_.steps && !first_mark_[rank].empty(); ++s) {
        if (!has_peers_[rank][s]) continue;
        out[s] = 0;
        for (std::size_t i = 0; i < stretches(rank, s); ++i) {
            out[s] += length(rank, s, i) - typical[first_mark_[rank][s] + i];
        }
    }
    return out;
}

own_work::usual_excess own_work::usual(std::uint32_t rank, const std::set<std::uint32_t>& among) const {
    usual_excess out;
    if (first_mark_[rank].empty()) return out;
    std::map<std::uint64_t, std::vector<std::uint32_t>> steps_of;
    for (std::uint32_t s = 0; s < job_.steps; ++s) steps_of[shape_[rank][s]].push_back(s);
    double sum = 0;
    std::size_t count = 0;
    for (const auto& [shape, steps] : steps_of) {
        std::vector<std::uint32_t> peers;
        for (std::uint32_t r = 0; r < job_.ranks.size(); ++r) {
            if (r == rank || among.contains(r) || first_mark_[r].empty()) continue;
            const bool is_peer =
                std::any_of(steps.begin(), steps.end(), [&](std::uint32_t s) { return shape_[r][s] == shape; });
            if (is_peer) peers.push_back(r);
        }
        if (peers.empty()) continue;
        const std::size_t some = std::min(peers.size(), most_peers);
        const std::size_t parts = stretches(rank, steps.front());
        std::vector<std::vector<double>> of_peers(parts);
        std::vector<std::vector<double>> errors(parts);
        std::vector<double> errors_of_step;
        for (std::size_t i = 0; i < some; ++i) {
            const std::uint32_t peer = peers[i * peers.size() / some];
            std::vector<std::vector<double>> by_step;
            for (const std::uint32_t s : steps) {
                if (shape_[peer][s] != shape) continue;
                by_step.emplace_back();
                for (std::size_t at = 0; at < parts; ++at) {
                    by_step.back().push_back(length(rank, s, at) - length(peer, s, at));
                }
            }
            const std::vector<double> mean = mean_of_middle(by_step);
            const auto error_of = [&](std::vector<double> values) {
                return deviation_of(std::move(values)) / std::sqrt(static_cast<double>(by_step.size()));
            };
            std::vector<double> of_step;
            for (const std::vector<double>& each : by_step) {
                of_step.push_back(std::accumulate(each.begin(), each.end(), 0.0));
            }
            errors_of_step.push_back(error_of(std::move(of_step)));
            for (std::size_t at = 0; at < parts; ++at) {
                of_peers[at].push_back(mean[at]);
                std::vector<double> of_stretch;
                for (const std::vector<double>& each : by_step) of_stretch.push_back(each[at]);
                errors[at].push_back(error_of(std::move(of_stretch)));
            }
        }
        std::vector<double> is;  // by stretch
        std::vector<double>& longer = out.longer[shape];
        for (std::size_t at = 0; at < parts; ++at) {
            is.push_back(median_of(std::move(of_peers[at])));
            const double chance = errors_beyond * median_of(std::move(errors[at]));
            longer.push_back(is.back() > chance ? is.back() : 0);
        }
        // Many stretches may each be longer by no more than chance, and the step by more.
        const double whole = std::accumulate(is.begin(), is.end(), 0.0);
        if (whole > errors_beyond * median_of(std::move(errors_of_step)) &&
            whole > std::accumulate(longer.begin(), longer.end(), 0.0)) {
            double above = 0;
            for (const double each : is) above += std::max(each, 0.0);
            for (std::size_t at = 0; at < parts; ++at) longer[at] = std::max(is[at], 0.0) * whole / above;
        }
        sum += std::accumulate(is.begin(), is.end(), 0.0) * static_cast<double>(steps.size());
        count += steps.size();
    }
    out.is_known = count != 0;
    if (out.is_known) out.step_ns = sum / static_cast<double>(count);
    return out;
}

// `length_of`: of the rank's step and stretch. What a stretch cannot give up, since it is shorter, the next one does.
template <typename TLength>
local_times own_work::changed(std::uint32_t rank, TLength&& length_of) const {
    local_times out;
    double at = 0;
    double due = 0;
    for (std::uint32_t s = 0; s < job_.steps; ++s) {
        const std::size_t first = first_mark_[rank][s];
        // Between two steps nothing changes.
        const double before = s == 0 ? static_cast<double>(marks_[rank][first] - origin_ns_)
                                     : static_cast<double>(marks_[rank][first] - marks_[rank][first - 1]);
        at += before;
        due = s == 0 ? at : due + before;
        at = std::max(at, due);
        out.emplace_back(marks_[rank][first] - origin_ns_, at);
        for (std::size_t i = 0; i < stretches(rank, s); ++i) {
            due += length_of(s, i);
            at = std::max(at, due);
            out.emplace_back(marks_[rank][first + i + 1] - origin_ns_, at);
        }
    }
    return out;
}

local_times own_work::without(std::uint32_t rank, const usual_excess& excess) const {
    return changed(rank, [&](std::uint32_t step, std::size_t stretch) {
        const double is = length(rank, step, stretch);
        const auto known = excess.longer.find(shape_[rank][step]);
        if (known != excess.longer.end()) return is - known->second[stretch];
        // A step such as no peer has: in proportion.
        const double whole = length(rank, step);
        return whole > 0 ? is - is / whole * excess.step_ns : is;
    });
}

local_times own_work::as_peers(std::uint32_t rank, const std::vector<bool>& is_in,
                               const typical_lengths& typical) const {
    std::map<std::uint64_t, std::vector<std::uint32_t>> other_steps;
    for (std::uint32_t s = 0; s < job_.steps; ++s) {
        if (!is_in[s] && has_peers_[rank][s]) other_steps[shape_[rank][s]].push_back(s);
    }
    std::vector<std::uint32_t> instead(job_.steps, npos);
    std::map<std::uint64_t, std::size_t> used;
    for (std::uint32_t s = 0; s < job_.steps; ++s) {
        const auto others = other_steps.find(shape_[rank][s]);
        if (!is_in[s] || others == other_steps.end()) continue;
        instead[s] = others->second[used[shape_[rank][s]]++ % others->second.size()];
    }
    return changed(rank, [&](std::uint32_t step, std::size_t stretch) {
        const double peers = typical[first_mark_[rank][step] + stretch];
        if (!is_in[step] || !has_peers_[rank][step] || std::isnan(peers)) return length(rank, step, stretch);
        if (instead[step] == npos) return peers;
        const double other = length(rank, instead[step], stretch) - typical[first_mark_[rank][instead[step]] + stretch];
        return std::isnan(other) ? peers : std::max(peers + other, 0.0);
    });
}

}  // namespace prof
