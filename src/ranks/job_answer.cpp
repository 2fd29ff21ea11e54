// SPDX-License-Identifier: Apache-2.0
#include "ranks/job_answer.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>
#include <optional>
#include <set>
#include <tuple>
#include <utility>

#include "base/apportioned.hpp"
#include "base/display_text.hpp"
#include "base/json_text.hpp"
#include "base/python_command.hpp"
#include "ranks/arrivals.hpp"
#include "ranks/job_replay.hpp"
#include "ranks/own_work.hpp"
#include "ranks/robust.hpp"
#include "ranks/step_noise.hpp"

namespace prof {
namespace {

constexpr std::size_t most_differences = 3;              // of a kind that are told
constexpr std::int64_t least_before_ns = 1'500'000'000;  // that a rank died before the others
constexpr std::size_t most_priced = 8;                   // ranks
constexpr std::size_t most_groups_priced = 6;            // and groups of ranks
constexpr std::size_t most_of_verdict = 4;               // sentences
constexpr double gap_share = 0.4;            // of all ranks' difference lies between a slow group and the others
constexpr double most_bound_share = 0.5;     // of a step: a larger bound of a verdict says nothing
constexpr std::size_t most_pieces = 4;       // of a list of numbers
constexpr std::size_t most_told_apart = 3;   // causes of a group's ranks
constexpr double chance = 1e-3;              // that noise alone is taken for a straggler in a job
constexpr double host_share = 0.75;          // of its ranks are slow
constexpr double one_stretch_share = 0.6;    // of the excess lies in one stretch
constexpr double same_work = 0.01;           // two ranks have the same work up to this
constexpr double slow_transfer = 1.25;       // times that of its peers
constexpr double least_always_share = 0.85;  // of the steps: a rank that is slow in fewer is so in some
constexpr double clear_deviations = 3;       // of noise, that a step lies from what would be the other kind of step
constexpr double least_wait_share = 0.03;    // of a step, that ranks wait for one another
constexpr double least_wrong_replay = 0.02;  // of a step
constexpr double most_wrong_replay = 0.1;    // likewise
constexpr double most_alike = 1.05;          // that steps of ranks take of the job's, without a word on it

std::string time_text(double ns) {
    if (std::abs(ns) < 1e6) return fmt::format("{:.1f} us", ns / 1e3);
    if (std::abs(ns) < 1e10) return fmt::format("{:.2f} ms", ns / 1e6);
    return fmt::format("{:.2f} s", ns / 1e9);
}

// Of several steps.
std::string total_text(double ns) { return ns < 1e9 ? time_text(ns) : fmt::format("{:.2f} s", ns / 1e9); }

// A part of a step in the step's unit, unless that hides it.
std::string part_text(double ns, double step_ns) {
    const unit_of_time unit = unit_of_step(step_ns);
    constexpr double least_shown = 0.05;
    if (std::abs(ns) < least_shown * unit.ns && ns != 0) return time_text(ns);
    return fmt::format("{:.2f} {}", ns / unit.ns, unit.name);
}

// Of a part that is told so; not less than what is shown of it.
std::string error_text(double ns, double step_ns) {
    const unit_of_time unit = unit_of_step(step_ns);
    constexpr double least_shown = 0.01;
    return fmt::format("{:.2f} {}", std::max(ns / unit.ns, least_shown), unit.name);
}

double mean_of(const std::vector<double>& values) {
    return values.empty() ? 0 : std::accumulate(values.begin(), values.end(), 0.0) / static_cast<double>(values.size());
}

std::vector<double> known(const std::vector<double>& values) {
    std::vector<double> out;
    for (const double each : values) {
        if (!std::isnan(each)) out.push_back(each);
    }
    return out;
}

bool is_one_number(const std::vector<number_range>& ranges) {
    return ranges.size() == 1 && ranges.front().first == ranges.front().last;
}

// "rank 2", "ranks 0 to 3, 8 and others".
std::string text_of_ranges(const std::vector<number_range>& ranges) {
    std::string out = is_one_number(ranges) ? "rank " : "ranks ";
    for (std::size_t i = 0; i < ranges.size() && i < most_pieces; ++i) {
        const number_range& each = ranges[i];
        out += i == 0 ? "" : ", ";
        out += each.first == each.last ? std::to_string(each.first) : fmt::format("{} to {}", each.first, each.last);
    }
    if (ranges.size() > most_pieces) out += " and others";
    return out;
}

// Whether values of steps are beyond what noise makes them, and in which steps.
struct slow_steps_of {
    bool is_slow = false;
    bool is_passing = false;
    std::vector<bool> in;
    std::uint32_t count = 0;
};

class answer_maker {
public:
    explicit answer_maker(const job_ranks& job) : job_(job) {}

    job_answer run() {
        out_.steps = job_.steps;
        out_.ranks.resize(job_.ranks.size());
        const bool has_shared = std::any_of(job_.matched.begin(), job_.matched.end(),
                                            [](const matched_collective& each) { return each.count > 1; });
        measure_ranks();
        if (job_.steps == 0) {
            out_.no_verdict = "no step was recorded on all ranks";
        } else if (job_.ranks.size() < 2) {
            out_.no_verdict = "one rank has no peers";
        } else if (!has_shared) {
            out_.no_verdict = "no collective operation was recorded on several ranks";
        }
        if (job_.steps != 0) {
            replay_.emplace(job_);
            measure_collectives();
            if (out_.no_verdict.empty()) {
                price();
            } else {
                out_.step_ns = replay_->run().mean_ns();
            }
        }
        put_in_order();
        out_.standstill = find_standstill(job_);
        find_differences();
        remark();
        return std::move(out_);
    }

private:
    void measure_ranks() {
        for (std::uint32_t r = 0; r < job_.ranks.size(); ++r) {
            const rank_summary& rank = job_.ranks[r];
            rank_figures& of = out_.ranks[r];
            for (std::uint32_t s = 0; s < job_.steps && !rank.steps.empty(); ++s) {
                const rank_step& step = rank.steps[job_.first_step[r] + s];
                of.step_ns += static_cast<double>(step.to_ns - step.from_ns) / job_.steps;
                for (std::size_t part = 0; part < rank_part_count; ++part) {
                    of.parts[part] += static_cast<double>(step.parts[part]) / job_.steps;
                }
            }
        }
        std::int64_t first_ns = INT64_MAX, last_ns = INT64_MIN;
        for (std::uint32_t r = 0; r < job_.ranks.size() && job_.steps != 0; ++r) {
            if (job_.ranks[r].steps.empty()) continue;
            const std::int64_t at_ns = job_.aligned(r, job_.ranks[r].steps[job_.first_step[r]].from_ns);
            first_ns = std::min(first_ns, at_ns);
            last_ns = std::max(last_ns, at_ns);
        }
        if (first_ns < last_ns) out_.begin_skew_ns = static_cast<double>(last_ns - first_ns);
        for (const rank_figures& each : out_.ranks) out_.recorded_ns = std::max(out_.recorded_ns, each.step_ns);
    }

    void measure_collectives() {
        struct sums {
            collective_figures is;
            std::vector<double> transfer, launch, arrival;
            double exposed = 0, hidden = 0, members = 0;
            std::map<std::uint32_t, std::uint64_t> last;
        };
        std::map<std::tuple<std::uint64_t, collective_function, std::uint64_t>, sums> all;
        for (std::size_t m = 0; m < job_.matched.size(); ++m) {
            const matched_collective& of = job_.matched[m];
            if (of.count < 2) continue;
            const std::span<const collective_member> members = job_.members_of(of);
            const collective_waits waits = waits_in(job_, of);
            for (std::size_t i = 0; i < members.size(); ++i) {
                out_.ranks[members[i].rank].wait_ns += static_cast<double>(waits.wait_ns[i]) / job_.steps;
            }
            if (!of.is_whole) continue;
            if (std::none_of(members.begin(), members.end(),
                             [&](const auto& each) { return job_.step_of(each).has_value(); })) {
                ++out_.outside_steps;
                continue;
            }
            const rank_collective& first = job_.at(members.front());
            const std::uint64_t key = job_.ranks[members.front().rank].communicators[first.communicator].key;
            sums& to = all[{key, first.function, first.bytes}];
            if (to.is.count == 0) {
                to.is.communicator_rank = members.front().rank;
                to.is.communicator = first.communicator;
                to.is.function = first.function;
                to.is.bytes = first.bytes;
                to.is.by = first.by;
                to.is.ranks = of.count;
            }
            ++to.is.count;
            to.is.lacks_ranks = to.is.lacks_ranks || of.lacks_arrivals;
            to.is.clock_error_ns = std::max(to.is.clock_error_ns, waits.clock_error_ns);
            std::int64_t call_first = INT64_MAX, call_last = INT64_MIN;
            for (const collective_member& member : members) {
                const std::int64_t called = job_.aligned(member.rank, job_.at(member).enqueued_ns);
                call_first = std::min(call_first, called);
                call_last = std::max(call_last, called);
                ++out_.ranks[member.rank].collectives;
            }
            const collective_arrivals& arrivals = waits.arrivals;
            if (arrivals.last_rank) {
                ++out_.ranks[*arrivals.last_rank].last;
                ++to.last[*arrivals.last_rank];
            }
            for (const collective_member& member : members) {
                const rank_collective& is = job_.at(member);
                to.exposed += static_cast<double>(is.exposed_ns);
                to.hidden += static_cast<double>(is.end_ns - is.begin_ns - is.exposed_ns);
            }
            to.transfer.push_back(replay_->transfer_ns(m));
            to.launch.push_back(static_cast<double>(call_last - call_first));
            to.arrival.push_back(static_cast<double>(arrivals.last_ns - arrivals.first_ns));
        }
        for (auto& [key, of] : all) {
            collective_figures& is = of.is;
            const double per = static_cast<double>(job_.steps) * is.ranks;
            is.a_step = static_cast<double>(is.count) / job_.steps;
            is.transfer_ns = median_of(of.transfer);
            is.launch_skew_ns = median_of(of.launch);
            is.arrival_skew_ns = median_of(of.arrival);
            is.exposed_ns = of.exposed / per;
            is.hidden_ns = of.hidden / per;
            if (is.transfer_ns > 0 && !is.lacks_ranks) {
                is.bus_bytes_per_ns =
                    bus_factor(is.function, is.ranks) * static_cast<double>(is.bytes) / is.transfer_ns;
            }
            for (const auto& [rank, count] : of.last) {
                const double share = static_cast<double>(count) / static_cast<double>(is.count);
                if (share > is.last_share) {
                    is.last_share = share;
                    is.last_rank = rank;
                }
            }
            out_.collectives.push_back(is);
        }
        std::stable_sort(out_.collectives.begin(), out_.collectives.end(),
                         [](const collective_figures& a, const collective_figures& b) {
                             return a.exposed_ns + a.hidden_ns > b.exposed_ns + b.hidden_ns;
                         });
    }

    void price() {
        work_.emplace(job_, replay_->origin_ns());
        base_ = replay_->run();
        check_replay();
        find_incomplete_steps();
        out_.step_ns = base_.mean_ns();
        least_ns_ = least_straggler_share * out_.step_ns;
        out_.least_ns = least_ns_;
        excess_.resize(job_.ranks.size());
        usual_.resize(job_.ranks.size());
        for (std::uint32_t r = 0; r < job_.ranks.size(); ++r) {
            rank_figures& of = out_.ranks[r];
            if (job_.ranks[r].steps.empty()) continue;
            of.has_peers = work_->has_any_peers(r);
            if (!of.has_peers) continue;
            excess_[r] = work_->excess(r, work_->typical(r));
            usual_[r] = work_->usual(r);
            of.excess_ns = mean_of(known(excess_[r]));
            compared_.push_back(r);
        }
        noise_.emplace(excess_);
        if (!out_.no_verdict.empty()) return;
        if (compared_.size() < 2) {
            out_.no_verdict = "no two ranks call the same collectives in a step, so that none has peers";
            return;
        }
        std::set<std::uint32_t> alone;
        double waits_ns = 0;
        for (std::uint32_t r = 0; r < job_.ranks.size(); ++r) {
            if (job_.ranks[r].steps.empty()) continue;
            if (!out_.ranks[r].has_peers) alone.insert(r);
            waits_ns += out_.ranks[r].wait_ns;
        }
        if (!alone.empty()) out_.without_peers = names_of(alone);
        out_.mean_wait_ns = waits_ns / static_cast<double>(job_.ranks.size());
        usual_bound_ns_ = noise_->usual_bound_ns(static_cast<double>(compared_.size()), chance);
        price_groups();
        price_ranks();
        price_network();
        keep_stragglers();
        const bool has_bound = !std::isinf(usual_bound_ns_) && out_.least_ns <= most_bound_share * out_.step_ns;
        if (out_.stragglers.empty() && !has_bound && !have_steps()) {
            out_.no_verdict = fmt::format(
                "no rank has steps, and of {} it is not known what differs by chance: --step-range NAME names the "
                "range "
                "that is one",
                job_.steps == 1 ? "a recording of " + part_text(out_.step_ns, out_.step_ns) + " as a whole"
                                : fmt::format("{} recordings", job_.steps));
        } else if (out_.stragglers.empty() && std::isinf(usual_bound_ns_)) {
            out_.no_verdict = "one step on so few ranks does not show what chance does";
        } else if (out_.stragglers.empty() && out_.least_ns > most_bound_share * out_.step_ns) {
            out_.no_verdict =
                out_.least_ns < out_.step_ns
                    ? fmt::format(
                          "a rank's own work differs by chance by {} from step to step, so that only one that "
                          "costs more than {} of each step's {} would be seen",
                          part_text(noise_->deviation_ns(), out_.step_ns), part_text(out_.least_ns, out_.step_ns),
                          part_text(out_.step_ns, out_.step_ns))
                    : fmt::format(
                          "a rank's own work differs by chance by {} from step to step of {}, so that even one "
                          "that cost a whole step would not be seen",
                          part_text(noise_->deviation_ns(), out_.step_ns), part_text(out_.step_ns, out_.step_ns));
        }
        price_transfers();
        follow_critical_path();
    }

    // Without a change the replay gives what was recorded. Where the ranks waited for something that it does not know,
    // it is wrong by as much, and so are its prices.
    void check_replay() {
        const double recorded_ns = replay_->recorded().mean_ns();
        const double wrong = std::abs(base_.mean_ns() - recorded_ns) / std::max(recorded_ns, 1.0);
        if (wrong < least_wrong_replay) return;
        std::string text = fmt::format("the replay of the steps gives {} where {} were recorded",
                                       part_text(base_.mean_ns(), recorded_ns), part_text(recorded_ns, recorded_ns));
        if (wrong < most_wrong_replay) {
            out_.remarks.push_back(text + ": prices may be wrong by as much");
        } else {
            out_.no_verdict = text + ", so that it prices nothing";
        }
    }

    void price_transfers() {
        job_change no_transfers;
        out_.exposed_is_at_most =
            job_.lost.absent_ranks != 0 || std::any_of(out_.collectives.begin(), out_.collectives.end(),
                                                       [](const collective_figures& each) { return each.lacks_ranks; });
        // At most all that is communication: also where one rank of a communicator is all that was captured.
        no_transfers.transfer.assign(out_.exposed_is_at_most ? replay_->operations() : job_.matched.size(), 0);
        const double waits_ns = std::max(0.0, mean_of(gains_of(replay_->run(no_transfers))));
        for (std::uint32_t r = 0; r < job_.ranks.size(); ++r) no_transfers.local.push_back(local_without_slowing(r));
        out_.exposed_ns = std::max(waits_ns, mean_of(gains_of(replay_->run(no_transfers))));
        out_.slowing_ns = out_.exposed_ns - waits_ns;
    }

    void follow_critical_path() {
        std::map<std::tuple<std::uint32_t, std::uint64_t, collective_function, std::uint64_t>, path_part> all;
        for (const job_path_piece& piece : replay_->critical_path()) {
            path_part part{.rank = piece.rank};
            std::uint64_t key = 0;
            if (piece.matched < job_.matched.size()) {
                const collective_member& member = job_.members_of(job_.matched[piece.matched]).front();
                const rank_collective& is = job_.at(member);
                part.communicator_rank = member.rank;
                part.communicator = is.communicator;
                part.function = is.function;
                part.bytes = is.bytes;
                part.lacks_ranks = job_.matched[piece.matched].lacks_arrivals;
                key = job_.ranks[member.rank].communicators[is.communicator].key;
            }
            path_part& to = all.try_emplace({part.rank, key, part.function, part.bytes}, part).first->second;
            to.ns += piece.ns / job_.steps;
            to.lacks_ranks = to.lacks_ranks || part.lacks_ranks;
            ++to.pieces;
        }
        for (const auto& [key, part] : all) out_.path.push_back(part);
        std::stable_sort(out_.path.begin(), out_.path.end(),
                         [](const path_part& a, const path_part& b) { return a.ns > b.ns; });
    }

    // What ran beside a collective takes what it takes alone.
    local_times local_without_slowing(std::uint32_t r) const {
        local_times out;
        const rank_summary& rank = job_.ranks[r];
        std::int64_t latest_ns = INT64_MIN;
        std::int64_t removed_ns = 0;
        for (const rank_collective& each : rank.collectives) {
            if (each.slowing_ns == 0) continue;
            const std::int64_t from_ns = std::max(rank.local_ns(each.begin_ns) - replay_->origin_ns(), latest_ns);
            const std::int64_t to_ns = rank.local_ns(each.end_ns) - replay_->origin_ns();
            if (to_ns <= from_ns) continue;
            out.emplace_back(from_ns, static_cast<double>(from_ns - removed_ns));
            removed_ns += std::min(each.slowing_ns, to_ns - from_ns);
            out.emplace_back(to_ns, static_cast<double>(to_ns - removed_ns));
            latest_ns = to_ns;
        }
        return out;
    }

    // Whether some steps are slow and the others are not, and nearly none lie between, as where the rank becomes slower
    // from step to step.
    bool are_two_kinds(const std::vector<double>& all, const std::vector<double>& slow) const {
        const auto count = static_cast<double>(all.size());
        if (static_cast<double>(slow.size()) >= least_always_share * count) return false;
        const double apart = median_of(slow);
        if (apart / 2 < clear_deviations * noise_->deviation_ns()) return false;
        const auto between = std::count_if(all.begin(), all.end(),
                                           [&](double each) { return each > apart / 4 && each < apart * 3 / 4; });
        return static_cast<double>(between) <= (1 - least_always_share) * count;
    }

    // `usual_ns`: beyond the peers, as own_work has it; `excess`: in each step.
    slow_steps_of slow_steps(const std::vector<double>& excess, double usual_ns) const {
        slow_steps_of out;
        out.in.assign(job_.steps, false);
        const auto ranks = static_cast<double>(compared_.size());
        const double middle = median_of(known(excess));
        if (std::min(middle, usual_ns) > std::max(usual_bound_ns_, least_ns_ / 2)) {
            out.is_slow = true;
            std::vector<bool> slow(job_.steps, false);
            std::vector<double> of_slow;
            for (std::uint32_t s = 0; s < job_.steps; ++s) {
                slow[s] = excess[s] > middle / 2;
                if (slow[s]) of_slow.push_back(excess[s]);
            }
            out.count = static_cast<std::uint32_t>(of_slow.size());
            out.is_passing = are_two_kinds(known(excess), of_slow);
            if (out.is_passing) {
                out.in = std::move(slow);
            } else {
                out.in.assign(job_.steps, true);
            }
            return out;
        }
        if (std::isinf(usual_bound_ns_)) return out;
        // Slow once is beyond a high bound; slow several times, with others between, beyond a lower one.
        for (std::size_t times = job_.steps / 2; times != 0 && !out.is_slow; --times) {
            const double bound_ns = noise_->repeated_bound_ns(times, job_.steps, ranks, chance);
            const double most_usual = std::max(middle, 0.0) + std::max(bound_ns, least_ns_);
            std::size_t runs = 0;
            out.count = 0;
            for (std::uint32_t s = 0; s < job_.steps; ++s) {
                out.in[s] = excess[s] > most_usual;
                if (!out.in[s]) continue;
                ++out.count;
                if (s == 0 || !out.in[s - 1]) ++runs;
            }
            out.is_slow = out.is_passing = runs >= times;
        }
        if (!out.is_slow) {
            out.in.assign(job_.steps, false);
            out.count = 0;
        }
        return out;
    }

    // What a step of the job gains by the change, and the error of that.
    std::pair<double, std::optional<double>> gain_of(const job_change& change, const slow_steps_of& slow) const {
        const std::vector<double> gains = gains_of(replay_->run(change));
        const double gain = mean_of(gains);
        if (gains.size() < 2) return {gain, std::nullopt};
        const auto steps = static_cast<double>(gains.size());
        if (slow.is_passing) {
            return {gain, confidence_95 * noise_->deviation_ns() * std::sqrt(slow.count) / steps};
        }
        double squares = 0;
        for (const double each : gains) squares += (each - gain) * (each - gain);
        return {gain, noise_->error_ns(std::sqrt(squares / (steps - 1)))};
    }

    // Of each step, but for those in which a rank lacks a collective: what it did meanwhile is not known.
    std::vector<double> gains_of(const replayed_steps& without) const {
        std::vector<double> out;
        for (std::uint32_t s = 0; s < job_.steps; ++s) {
            if (!lacks_collectives_[s]) out.push_back(base_.length_ns(s) - without.length_ns(s));
        }
        return out;
    }

    void find_incomplete_steps() {
        lacks_collectives_.assign(job_.steps, false);
        for (const matched_collective& of : job_.matched) {
            if (of.is_whole || !of.lacks_member) continue;
            for (const collective_member& each : job_.members_of(of)) {
                const std::uint32_t step = job_.at(each).step;
                const std::uint32_t first = job_.first_step[each.rank];
                if (step != UINT32_MAX && step >= first && step - first < job_.steps) {
                    lacks_collectives_[step - first] = true;
                }
            }
        }
        const bool has_whole =
            std::find(lacks_collectives_.begin(), lacks_collectives_.end(), false) != lacks_collectives_.end();
        if (!has_whole) lacks_collectives_.assign(job_.steps, false);
    }

    void price_ranks() {
        std::vector<std::uint32_t> candidates = compared_;
        // Those that could gain most: by the steps in which they are slower.
        std::vector<double> above(job_.ranks.size(), 0);
        for (const std::uint32_t r : candidates) {
            for (const double each : known(excess_[r])) above[r] += std::max(each - 3 * noise_->deviation_ns(), 0.0);
            above[r] += std::max(usual_[r].step_ns, 0.0) * job_.steps;
        }
        std::stable_sort(candidates.begin(), candidates.end(),
                         [&](std::uint32_t a, std::uint32_t b) { return above[a] > above[b]; });
        if (candidates.size() > most_priced) candidates.resize(most_priced);
        for (const std::uint32_t r : candidates) {
            const slow_steps_of slow = slow_steps(excess_[r], usual_[r].step_ns);
            job_change change;
            change.local.resize(job_.ranks.size());
            change.local[r] =
                slow.is_passing ? work_->as_peers(r, slow.in, work_->typical(r)) : work_->without(r, usual_[r]);
            straggler found{.kind = straggler_kind::rank,
                            .ranks = {r},
                            .name = job_.name_of(r),
                            .steps = slow.count,
                            .is_passing = slow.is_passing,
                            .excess_ns = slow.is_passing ? out_.ranks[r].excess_ns : usual_[r].step_ns};
            explain(found, slow);
            make_host_faster(change, found);
            const auto [gain, error] = gain_of(change, slow);
            found.gain_ns = gain;
            found.error_ns = error;
            rank_figures& of = out_.ranks[r];
            of.is_priced = true;
            of.gain_ns = gain;
            of.error_ns = error;
            if (!slow.is_slow) continue;
            candidates_.push_back(std::move(found));
        }
    }

    struct rank_group {
        straggler_kind kind = straggler_kind::group;
        std::set<std::uint32_t> ranks;
        std::string name;
        double excess_ns = 0;  // the mean
    };

    // Ranks that could be slow together, because they share what is: a host, a communicator, or a speed.
    std::vector<rank_group> groups() const {
        std::vector<rank_group> out;
        const auto add = [&](straggler_kind kind, std::set<std::uint32_t> ranks, const std::string& name) {
            if (ranks.size() < 2 || ranks.size() >= compared_.size()) return;
            if (std::any_of(out.begin(), out.end(), [&](const rank_group& each) { return each.ranks == ranks; }))
                return;
            double sum = 0;
            for (const std::uint32_t r : ranks) sum += usual_[r].step_ns;
            const double mean = sum / static_cast<double>(ranks.size());
            out.push_back({kind, std::move(ranks), name, mean});
        };
        std::vector<std::set<std::uint32_t>> on(job_.clocks.hosts.size());
        for (const std::uint32_t r : compared_) on[job_.clocks.of_rank[r]].insert(r);
        for (std::size_t h = 0; h < on.size(); ++h) {
            add(straggler_kind::host, on[h], "host " + terminal_safe(job_.clocks.hosts[h].host));
        }
        std::map<std::uint64_t, std::pair<std::set<std::uint32_t>, std::string>> of_communicator;
        for (const std::uint32_t r : compared_) {
            for (const rank_communicator& each : job_.ranks[r].communicators) {
                auto& [ranks, name] = of_communicator[each.key];
                ranks.insert(r);
                name = each.name;
            }
        }
        for (const auto& [key, of] : of_communicator) {
            const auto& [ranks, name] = of;
            add(straggler_kind::group, ranks, names_of(ranks) + (name.empty() ? "" : " of communicator " + name));
        }
        // Two speeds: the largest gap between ranks by speed, if the faster ones are several, and no few of all.
        std::vector<std::pair<double, std::uint32_t>> order;
        order.reserve(compared_.size());
        for (const std::uint32_t r : compared_) order.emplace_back(-usual_[r].step_ns, r);
        std::sort(order.begin(), order.end());
        const std::size_t faster = std::max<std::size_t>(2, order.size() / 4);
        std::size_t slow = 0;
        double widest = 0;
        for (std::size_t i = 1; i + faster <= order.size(); ++i) {
            const double gap = order[i].first - order[i - 1].first;
            if (gap <= widest) continue;
            widest = gap;
            slow = i;
        }
        if (slow >= 2 && widest >= gap_share * (order.back().first - order.front().first)) {
            std::set<std::uint32_t> ranks;
            for (std::size_t i = 0; i < slow; ++i) ranks.insert(order[i].second);
            add(straggler_kind::group, ranks, names_of(ranks));
            // It comes first: the others are guesses.
            if (out.back().ranks == ranks) std::rotate(out.begin(), out.end() - 1, out.end());
        }
        std::stable_sort(out.begin(), out.end(),
                         [](const rank_group& a, const rank_group& b) { return a.excess_ns > b.excess_ns; });
        if (out.size() > most_groups_priced) out.resize(most_groups_priced);
        return out;
    }

    void price_groups() {
        for (const rank_group& group : groups()) {
            const std::set<std::uint32_t>& among = group.ranks;
            const std::vector<own_work::typical_lengths> typical = work_->typical_without(among);
            // What all of them have beyond the others, in each step: the median.
            std::vector<std::vector<double>> excess;
            std::vector<own_work::usual_excess> usual;
            std::vector<double> usual_ns;
            for (const std::uint32_t r : among) {
                excess.push_back(work_->excess(r, typical[r]));
                usual.push_back(work_->usual(r, among));
                if (usual.back().is_known) usual_ns.push_back(usual.back().step_ns);
            }
            if (usual_ns.size() < among.size()) continue;
            std::vector<double> shared(job_.steps, NAN);
            for (std::uint32_t s = 0; s < job_.steps; ++s) {
                std::vector<double> values;
                for (const auto& each : excess) {
                    if (!std::isnan(each[s])) values.push_back(each[s]);
                }
                if (!values.empty()) shared[s] = median_of(std::move(values));
            }
            const slow_steps_of slow = slow_steps(shared, median_of(usual_ns));
            if (!slow.is_slow) continue;
            std::size_t count = 0;
            for (std::size_t i = 0; i < excess.size(); ++i) {
                double sum = slow.is_passing ? 0 : usual_ns[i] - median_of(usual_ns) / 2;
                for (std::uint32_t s = 0; s < job_.steps && slow.is_passing; ++s) {
                    if (slow.in[s] && !std::isnan(excess[i][s])) sum += excess[i][s] - shared[s] / 2;
                }
                count += sum > 0 ? 1 : 0;
            }
            if (static_cast<double>(count) < host_share * static_cast<double>(among.size())) continue;
            job_change change;
            change.local.resize(job_.ranks.size());
            std::size_t at = 0;
            for (const std::uint32_t r : among) {
                change.local[r] =
                    slow.is_passing ? work_->as_peers(r, slow.in, typical[r]) : work_->without(r, usual[at]);
                ++at;
            }
            straggler found{.kind = group.kind,
                            .ranks = {among.begin(), among.end()},
                            .name = group.name,
                            .steps = slow.count,
                            .is_passing = slow.is_passing,
                            .excess_ns = slow.is_passing ? mean_of(known(shared)) : median_of(usual_ns)};
            explain(found, slow);
            make_host_faster(change, found);
            const auto [gain, error] = gain_of(change, slow);
            found.gain_ns = gain;
            found.error_ns = error;
            candidates_.push_back(std::move(found));
        }
    }

    // A GPU that works less does not make its host launch sooner.
    void make_host_faster(job_change& change, const straggler& of) const {
        change.host_too.assign(job_.ranks.size(), false);
        const bool is_of_host = of.part >= first_idle_part || of.part == communication_part;
        for (const std::uint32_t r : of.ranks) change.host_too[r] = is_of_host;
    }

    // Communicators whose transfers take longer than the same ones of others; or, in some steps, than their own.
    void price_network() {
        struct of_class {
            std::vector<std::uint32_t> matched;
            double median = 0;
        };
        std::map<std::tuple<collective_function, std::uint64_t, std::uint32_t>, std::map<std::uint64_t, of_class>>
            classes;
        for (std::uint32_t m = 0; m < job_.matched.size(); ++m) {
            const matched_collective& of = job_.matched[m];
            if (of.count < 2 || !of.is_whole || of.lacks_arrivals) continue;
            const collective_member member = job_.members[of.first];
            const rank_collective& first = job_.at(member);
            if (first.step == UINT32_MAX) continue;
            const std::uint64_t key = job_.ranks[member.rank].communicators[first.communicator].key;
            classes[{first.function, first.bytes, of.count}][key].matched.push_back(m);
        }
        std::map<std::uint64_t, std::vector<std::pair<std::uint32_t, double>>> slower;  // communicator → matched, share
        std::map<std::uint64_t, std::vector<std::pair<std::uint32_t, double>>> passing;
        for (auto& [is, by_communicator] : classes) {
            std::vector<double> medians;
            for (auto& [key, of] : by_communicator) {
                std::vector<double> values;
                values.reserve(of.matched.size());
                for (const std::uint32_t m : of.matched) values.push_back(replay_->transfer_ns(m));
                of.median = median_of(values);
                medians.push_back(of.median);
                const double deviation = deviation_of(values);
                const double most = of.median * slow_transfer +
                                    deviations_for(static_cast<double>(job_.matched.size()), chance) * deviation;
                for (const std::uint32_t m : of.matched) {
                    const double takes = replay_->transfer_ns(m);
                    const bool is_beyond = takes > most && takes - of.median > clock_error_of(job_, job_.matched[m]);
                    if (is_beyond) passing[key].emplace_back(m, of.median / takes);
                }
            }
            if (by_communicator.size() < 3) continue;
            const double usual = median_of(medians);
            for (const auto& [key, of] : by_communicator) {
                const bool is_slow = of.median > slow_transfer * usual &&
                                     of.median - usual > clock_error_of(job_, job_.matched[of.matched.front()]);
                if (!is_slow) continue;
                for (const std::uint32_t m : of.matched) {
                    const double takes = replay_->transfer_ns(m);
                    slower[key].emplace_back(m, takes > usual ? usual / takes : 1);
                }
            }
        }
        const auto add = [&](const auto& by_communicator, bool is_passing) {
            for (const auto& [key, list] : by_communicator) {
                double excess = 0;
                std::set<std::uint32_t> steps, ranks;
                job_change change;
                change.transfer.assign(job_.matched.size(), 1);
                std::uint32_t step_rank = 0;
                for (const auto& [m, share] : list) {
                    change.transfer[m] = share;
                    excess += (1 - share) * replay_->transfer_ns(m);
                    const collective_member member = job_.members[job_.matched[m].first];
                    steps.insert(job_.at(member).step);
                    step_rank = member.rank;
                    for (const collective_member& each : job_.members_of(job_.matched[m])) ranks.insert(each.rank);
                }
                excess /= job_.steps;
                if (excess < least_ns_ / 2) continue;
                slow_steps_of slow;
                slow.is_passing = is_passing;
                slow.count = static_cast<std::uint32_t>(steps.size());
                const auto [gain, error] = gain_of(change, slow);
                const rank_summary& rank = job_.ranks[step_rank];
                std::string name;
                for (const rank_communicator& each : rank.communicators) {
                    if (each.key == key) name = each.name;
                }
                straggler found{.kind = straggler_kind::network,
                                .ranks = {ranks.begin(), ranks.end()},
                                .name = "the network of " + names_of(ranks),
                                .gain_ns = gain,
                                .error_ns = error,
                                .steps = slow.count,
                                .is_passing = is_passing,
                                .excess_ns = excess,
                                .cause = is_passing ? "transfers take longer than the same ones at other times"
                                                    : "transfers take longer than the same ones of other communicators",
                                .part = communication_part,
                                .part_ns = excess};
                if (!name.empty()) found.place = "communicator " + terminal_safe(name);
                candidates_.push_back(std::move(found));
            }
        };
        add(slower, false);
        add(passing, true);
    }

    // "ranks 2 and 3", "ranks 0 to 3, 8 and 3 more".
    std::string names_of(const std::set<std::uint32_t>& ranks) const {
        if (ranks.size() == 1) return job_.name_of(*ranks.begin());
        std::vector<std::int64_t> numbers;
        for (const std::uint32_t r : ranks) {
            if (!job_.ranks[r].rank) return list_of_names(ranks);
            numbers.push_back(*job_.ranks[r].rank);
        }
        return "ranks " + list_of_numbers(numbers);
    }

    // "capture a.json and capture b.json", where not all ranks have a number.
    std::string list_of_names(const std::set<std::uint32_t>& ranks) const {
        std::vector<std::string> pieces;
        for (const std::uint32_t r : ranks) {
            if (pieces.size() < most_pieces) pieces.push_back(job_.name_of(r));
        }
        if (pieces.size() < ranks.size()) pieces.push_back(fmt::format("{} more", ranks.size() - pieces.size()));
        std::string out;
        for (std::size_t i = 0; i < pieces.size(); ++i) {
            out += (i == 0 ? "" : i + 1 == pieces.size() ? " and " : ", ") + pieces[i];
        }
        return out;
    }

    // A finding gains more than its error, and than a hundredth of a step. One that another explains is left out: a
    // rank of a slow host, and a communicator whose ranks are slow.
    void keep_stragglers() {
        std::stable_sort(candidates_.begin(), candidates_.end(),
                         [](const straggler& a, const straggler& b) { return a.gain_ns > b.gain_ns; });
        for (straggler& each : candidates_) {
            if (each.gain_ns < least_ns_ || each.gain_ns < each.error_ns.value_or(0)) continue;
            const bool is_known =
                std::any_of(out_.stragglers.begin(), out_.stragglers.end(), [&](const straggler& other) {
                    if (each.kind == straggler_kind::network && other.kind == straggler_kind::network) {
                        return each.ranks == other.ranks;
                    }
                    if (each.kind == straggler_kind::network || other.kind == straggler_kind::network) return false;
                    return std::includes(other.ranks.begin(), other.ranks.end(), each.ranks.begin(),
                                         each.ranks.end()) ||
                           std::includes(each.ranks.begin(), each.ranks.end(), other.ranks.begin(), other.ranks.end());
                });
            if (!is_known) out_.stragglers.push_back(std::move(each));
        }
        if (std::isinf(usual_bound_ns_)) return;
        // One that costs as much as the bound is seen every other time: its price has an error, too.
        const double error_ns = noise_->error_ns(0);
        out_.least_ns = std::max(least_ns_, usual_bound_ns_) + (std::isnan(error_ns) ? 0 : error_ns);
    }

    // Else each recording as a whole is taken for a step.
    bool have_steps() const {
        return std::any_of(job_.ranks.begin(), job_.ranks.end(),
                           [](const rank_summary& each) { return each.has_steps; });
    }

    bool has_own_steps(std::uint32_t rank) const {
        const auto& lent = job_.of_other_steps;
        return std::find(lent.begin(), lent.end(), rank) == lent.end();
    }

    // What a rank of a straggler exceeds its peers in.
    struct rank_cause {
        std::string cause{};
        std::string place{};
        std::string where{};
        std::string finding{};
        std::string line{};
    };

    // Why: the part of its step that exceeds its peers' most, and where. Of several ranks each has its own cause.
    void explain(straggler& of, const slow_steps_of& slow) const {
        std::set<std::uint32_t> among;
        for (const std::uint32_t r : of.ranks) {
            if (has_own_steps(r)) among.insert(r);
        }
        if (among.empty()) {
            of.cause = "not known, since its capture has no steps";
            return;
        }
        std::uint32_t some_step = 0;
        while (some_step + 1 < job_.steps && !slow.in[some_step]) ++some_step;
        std::map<std::uint64_t, std::set<std::uint32_t>> peers_by_shape;
        for (std::uint32_t r = 0; r < job_.ranks.size(); ++r) {
            const bool is_of_it = std::find(of.ranks.begin(), of.ranks.end(), r) != of.ranks.end();
            if (is_of_it || !out_.ranks[r].has_peers || !has_own_steps(r)) continue;
            peers_by_shape[work_->shape(r, some_step)].insert(r);
        }
        const std::set<std::uint32_t> none;
        const auto peers_of = [&](std::uint32_t r) -> const std::set<std::uint32_t>& {
            const auto found = peers_by_shape.find(work_->shape(r, some_step));
            return found == peers_by_shape.end() ? none : found->second;
        };
        const std::set<std::uint32_t>& peers = peers_of(*among.begin());
        if (peers.empty()) return;
        // Means of the slow steps.
        struct mean_step {
            std::array<double, rank_part_count> parts{};
            double kernels = 0, threads = 0;
        };
        const auto mean_of_rank = [&](std::uint32_t r) {
            mean_step out;
            double count = 0;
            for (std::uint32_t s = 0; s < job_.steps; ++s) {
                if (!slow.in[s]) continue;
                const rank_step& step = job_.ranks[r].steps[job_.first_step[r] + s];
                double others = 0;
                for (std::size_t part = 0; part < rank_part_count; ++part) {
                    out.parts[part] += static_cast<double>(step.parts[part]);
                    if (part != communication_part) others += static_cast<double>(step.parts[part]);
                }
                // Of communication only what it does not wait for is its own work.
                const rank_summary& of_rank = job_.ranks[r];
                const auto local = static_cast<double>(of_rank.local_ns(step.to_ns) - of_rank.local_ns(step.from_ns));
                out.parts[communication_part] += local - others - static_cast<double>(step.parts[communication_part]);
                out.kernels += static_cast<double>(step.kernels);
                out.threads += static_cast<double>(step.threads);
                ++count;
            }
            for (double& part : out.parts) part /= std::max(count, 1.0);
            out.kernels /= std::max(count, 1.0);
            out.threads /= std::max(count, 1.0);
            return out;
        };
        const auto median_step = [&](const std::set<std::uint32_t>& ranks) {
            std::vector<mean_step> all;
            all.reserve(ranks.size());
            for (const std::uint32_t r : ranks) all.push_back(mean_of_rank(r));
            mean_step out;
            const auto middle = [&](auto&& value) {
                std::vector<double> values;
                values.reserve(all.size());
                for (const mean_step& each : all) values.push_back(value(each));
                return median_of(std::move(values));
            };
            for (std::size_t part = 0; part < rank_part_count; ++part) {
                out.parts[part] = middle([&](const mean_step& each) { return each.parts[part]; });
            }
            out.kernels = middle([](const mean_step& each) { return each.kernels; });
            out.threads = middle([](const mean_step& each) { return each.threads; });
            return out;
        };
        const mean_step is = median_step(among);
        const mean_step usual = median_step(peers);
        const auto part_beyond = [](const mean_step& one, const mean_step& other) {
            std::size_t out = 0;
            double most = 0;
            for (std::size_t part = 0; part < rank_part_count; ++part) {
                if (one.parts[part] - other.parts[part] <= most) continue;
                most = one.parts[part] - other.parts[part];
                out = part;
            }
            return out;
        };
        of.part = part_beyond(is, usual);
        of.part_ns = std::max(is.parts[of.part] - usual.parts[of.part], 0.0);
        std::map<std::uint64_t, mean_step> usual_by_shape;
        std::map<std::pair<std::uint64_t, std::size_t>, std::map<std::string, double>> places;
        std::map<std::uint32_t, rank_cause> causes;
        for (const std::uint32_t r : of.ranks) {
            rank_cause& one = causes[r];
            if (!has_own_steps(r)) {
                one.cause = "not known, since its capture has no steps";
                continue;
            }
            const std::uint64_t shape = work_->shape(r, some_step);
            if (peers_of(r).empty()) continue;
            const auto [known, is_new] = usual_by_shape.try_emplace(shape);
            if (is_new) known->second = median_step(peers_of(r));
            const mean_step own = mean_of_rank(r);
            const std::size_t part = part_beyond(own, known->second);
            one.cause = cause_of(part, own.kernels, known->second.kernels, own.threads, known->second.threads);
            if (part != communication_part) {
                const auto [time, is_first] = places.try_emplace({shape, part});
                if (is_first) time->second = usual_places(peers_of(r), part);
                one.place = place_of(r, part, time->second);
            }
            one.where = stretch_of(r, slow);
            for (const rank_finding& found : job_.ranks[r].findings) {
                if (one.finding.empty()) one.finding = found.title;
                if (one.line.empty()) one.line = found.line;
            }
        }
        of.cause = told_of(causes, &rank_cause::cause);
        of.place = told_of(causes, &rank_cause::place);
        of.where = told_of(causes, &rank_cause::where);
        const auto is_shared = [&](std::string rank_cause::*member) {
            return std::all_of(causes.begin(), causes.end(),
                               [&](const auto& each) { return each.second.*member == causes.begin()->second.*member; });
        };
        of.is_on_each = is_shared(&rank_cause::cause);
        if (!of.is_on_each) of.part_ns = 0;
        const auto with_finding =
            std::find_if(causes.begin(), causes.end(), [](const auto& each) { return !each.second.finding.empty(); });
        if (with_finding == causes.end()) return;
        of.finding = with_finding->second.finding;
        of.line = with_finding->second.line;
        if (!is_shared(&rank_cause::finding) || !is_shared(&rank_cause::line)) {
            of.finding_of = job_.name_of(with_finding->first);
        }
    }

    // What all ranks have in common; else what each has: "before all_reduce 2 of 4 on rank 1, before all_reduce 3 of 4
    // on rank 2".
    std::string told_of(const std::map<std::uint32_t, rank_cause>& causes, std::string rank_cause::*member) const {
        std::vector<std::pair<std::string, std::set<std::uint32_t>>> values;
        for (const auto& [r, one] : causes) {
            const auto known =
                std::find_if(values.begin(), values.end(), [&](const auto& each) { return each.first == one.*member; });
            if (known == values.end()) {
                values.push_back({one.*member, {r}});
            } else {
                known->second.insert(r);
            }
        }
        if (values.size() == 1) return values.front().first;
        std::erase_if(values, [](const auto& each) { return each.first.empty(); });
        std::stable_sort(values.begin(), values.end(),
                         [](const auto& a, const auto& b) { return a.second.size() > b.second.size(); });
        std::string out;
        for (std::size_t i = 0; i < values.size() && i < most_told_apart; ++i) {
            out += fmt::format("{}{} on {}", i == 0 ? "" : ", ", values[i].first,
                               terminal_safe(names_of(values[i].second)));
        }
        if (values.size() > most_told_apart) out += ", and elsewhere on the others";
        return out;
    }

    static std::string cause_of(std::size_t part, double kernels, double usual_kernels, double threads,
                                double usual_threads) {
        if (part == compute_part) {
            const auto differ = [](double a, double b) { return std::abs(a - b) > same_work * std::max(a, b); };
            if (differ(kernels, usual_kernels)) {
                return fmt::format("uneven work: it has {:.0f} kernels a step, its peers {:.0f}", kernels,
                                   usual_kernels);
            }
            if (differ(threads, usual_threads)) {
                return fmt::format("uneven work: its kernels have {:.2f} times the threads of its peers'",
                                   threads / std::max(usual_threads, 1.0));
            }
            return "its GPU takes longer for the same kernels";
        }
        if (part == communication_part) return "its GPU computes nothing beside collectives that it does not wait for";
        if (part == copy_part) return "its copies take longer";
        const auto cause = static_cast<idle_cause>(part - first_idle_part);
        if (cause == idle_cause::loader) return "its input is late: it waits for the data loader";
        const idle_group group = group_of(cause);
        if (group == idle_group::starved) return fmt::format("its host is late: {}", word_for(cause));
        return fmt::format("its GPU is idle longer: {}", word_for(cause));
    }

    // By place: the median of the peers.
    std::map<std::string, double> usual_places(const std::set<std::uint32_t>& peers, std::size_t part) const {
        std::map<std::string, std::vector<double>> times;
        for (const std::uint32_t peer : peers) {
            for (const rank_place& each : job_.ranks[peer].time) {
                if (each.part == part) times[each.place].push_back(each.mean_ns);
            }
        }
        std::map<std::string, double> out;
        for (auto& [place, values] : times) {
            values.resize(peers.size(), 0);
            out[place] = median_of(std::move(values));
        }
        return out;
    }

    // Where the rank has most of that part beyond what is usual; "": nowhere.
    std::string place_of(std::uint32_t own, std::size_t part, const std::map<std::string, double>& usual) const {
        std::string out;
        double most = 0;
        for (const rank_place& place : job_.ranks[own].time) {
            if (place.part != part) continue;
            const auto of_peers = usual.find(place.place);
            const double more = place.mean_ns - (of_peers == usual.end() ? 0 : of_peers->second);
            if (more <= most) continue;
            most = more;
            const char* const nowhere = job_.ranks[own].has_steps ? "rest of the step" : "outside ranges";
            out = place.place.empty() ? nowhere : terminal_safe(place.place);
        }
        return out;
    }

    // The stretch between two collectives in which most of it lies, where the steps have the same ones; "": none has.
    std::string stretch_of(std::uint32_t own, const slow_steps_of& slow) const {
        std::vector<double> sums;
        std::uint32_t with = UINT32_MAX;
        for (std::uint32_t s = 0; s < job_.steps; ++s) {
            if (!slow.in[s] || !work_->has_peers(own, s)) continue;
            if (with == UINT32_MAX) {
                with = s;
                sums.assign(work_->stretches(own, s), 0);
            }
            if (work_->shape(own, s) != work_->shape(own, with)) return {};
            for (std::size_t i = 0; i < sums.size(); ++i)
                sums[i] += work_->length(own, s, i) - work_->typical(own, s, i);
        }
        if (sums.size() < 3) return {};
        double all = 0;
        for (const double each : sums) all += std::max(each, 0.0);
        const auto most = static_cast<std::size_t>(std::max_element(sums.begin(), sums.end()) - sums.begin());
        if (!(sums[most] > one_stretch_share * all)) return {};
        const std::uint32_t next = work_->collective_after(own, with, most);
        if (next == npos) return "after the last collective of the step";
        const rank_collective& is = job_.ranks[own].collectives[next];
        return fmt::format("before {} {} of {}", to_string(is.function), most + 1, sums.size() - 1);
    }

    void put_in_order() {
        out_.order.resize(out_.ranks.size());
        std::iota(out_.order.begin(), out_.order.end(), 0U);
        std::stable_sort(out_.order.begin(), out_.order.end(), [&](std::uint32_t a, std::uint32_t b) {
            const auto key = [&](std::uint32_t r) {
                return std::tuple(-out_.ranks[r].gain_ns * (out_.ranks[r].is_priced ? 1 : 0), -out_.ranks[r].excess_ns);
            };
            return key(a) < key(b);
        });
        // Those of a straggler first.
        std::stable_partition(out_.order.begin(), out_.order.end(), [&](std::uint32_t r) {
            return std::any_of(out_.stragglers.begin(), out_.stragglers.end(), [&](const straggler& each) {
                return each.kind != straggler_kind::network &&
                       std::find(each.ranks.begin(), each.ranks.end(), r) != each.ranks.end();
            });
        });
    }

    // Collectives that some ranks have otherwise than others, or not at all; and ranks that died before the others.
    void find_differences() {
        for (std::size_t i = 0; i < job_.mismatches.size() && i < most_differences; ++i) {
            out_.differences.push_back(text_of(job_.mismatches[i]));
        }
        if (job_.mismatches.size() > most_differences) {
            out_.differences.push_back(fmt::format("{}{} more collectives differ",
                                                   job_.mismatches.size() - most_differences,
                                                   job_.mismatches.size() == most_mismatches ? " and" : ""));
        }
        // The last moment that is known of a process that was killed is up to a second before its death.
        std::int64_t latest_ns = INT64_MIN;
        for (std::uint32_t r = 0; r < job_.ranks.size(); ++r) {
            latest_ns = std::max(latest_ns, job_.aligned(r, job_.ranks[r].ending.at_ns));
        }
        std::size_t told = 0;
        for (std::uint32_t r = 0; r < job_.ranks.size() && told < most_differences; ++r) {
            const rank_ending& is = job_.ranks[r].ending;
            const std::int64_t before_ns = latest_ns - job_.aligned(r, is.at_ns);
            const bool is_told =
                std::any_of(out_.standstill.stands.begin(), out_.standstill.stands.end(), [&](const standstill& each) {
                    const auto has = [&](const standing_rank& rank) {
                        return rank.rank == r && rank.ended_before_ns != 0;
                    };
                    return std::any_of(each.called.begin(), each.called.end(), has) ||
                           std::any_of(each.not_called.begin(), each.not_called.end(), has);
                });
            if (!is.has_died || before_ns < least_before_ns || is_told) continue;
            ++told;
            std::string text = fmt::format("{} ended {} before the others: {}", terminal_safe(job_.name_of(r)),
                                           time_text(static_cast<double>(before_ns)), is.how);
            if (!is.place.empty()) text += "; it was in " + terminal_safe(is.place);
            if (!is.line.empty()) text += ", at " + terminal_safe(is.line);
            out_.differences.push_back(std::move(text));
        }
    }

    // "rank 2 does not have all_reduce number 12 of dp (4,194,304 bytes), called in forward, that ranks 0, 1 and 3
    // have".
    std::string text_of(const collective_mismatch& of) const {
        const rank_collective& is = job_.at(of.other);
        std::set<std::uint32_t> having;
        std::int64_t own_ns = job_.clocks.own(of.rank, job_.aligned(of.other.rank, is.enqueued_ns));
        const rank_collective* own = nullptr;
        for (std::uint32_t r = 0; r < job_.ranks.size(); ++r) {
            const auto& all = job_.ranks[r].collectives;
            const auto same =
                std::find_if(all.begin(), all.end(), [&](const auto& each) { return each.key == is.key; });
            if (same == all.end()) continue;
            if (r == of.rank) {
                own = &*same;
                own_ns = own->enqueued_ns;
            } else if (same->function == is.function && (same->bytes == is.bytes || r == of.other.rank)) {
                having.insert(r);
            }
        }
        const rank_summary& rank = job_.ranks[of.rank];
        std::string out = terminal_safe(job_.name_of(of.rank));
        if (own == nullptr) {
            out += " does not have " + text_of_collective(job_, of.other.rank, is);
        } else {
            out += " calls " + text_of_collective(job_, of.rank, *own);
            if (const std::string& place = rank.places[own->place]; !place.empty())
                out += " in " + terminal_safe(place);
            out += ", where it is " + text_of_collective(job_, of.other.rank, is);
        }
        if (const std::string& place = job_.ranks[of.other.rank].places[is.place]; !place.empty()) {
            out += " in " + terminal_safe(place);
        }
        out += (own == nullptr ? ", which " : " on ") + terminal_safe(names_of(having));
        if (own == nullptr) out += having.size() == 1 ? " has" : " have";
        if (own == nullptr) {
            const std::string last = last_collective_of(job_, of.rank, own_ns);
            if (!last.empty()) out += "; its last one before was " + last;
        }
        return out;
    }

    void remark() {
        auto& out = out_.remarks;
        const auto listed = [&](const auto& ranks, auto&& name) {
            std::string text;
            for (std::size_t i = 0; i < ranks.size() && i < 8; ++i) text += (i == 0 ? "" : ", ") + name(ranks[i]);
            if (ranks.size() > 8) text += fmt::format(" and {} more", ranks.size() - 8);
            return text;
        };
        const auto name = [&](std::uint32_t r) { return terminal_safe(job_.name_of(r)); };
        if (!job_.missing.empty()) {
            out.push_back("no capture with GPU work of " + text_of_ranges(job_.missing));
        }
        if (!job_.copies.empty()) {
            out.push_back("left out, since another capture is of the same process: " +
                          listed(job_.copies, [&](const capture_copy& each) {
                              return fmt::format("{} ({}, as {})", terminal_safe(file_name_of(each.path)),
                                                 name(each.kept), terminal_safe(file_name_of(each.kept_path)));
                          }));
        }
        if (job_.rivals != 0) {
            out.push_back(fmt::format(
                "{} more capture{} same rank's number as one of this job, and {} taken for another "
                "job",
                job_.rivals, job_.rivals == 1 ? " has the" : "s have the", job_.rivals == 1 ? "is" : "are"));
        }
        std::map<std::string, std::set<std::uint32_t>> on_gpu;
        for (std::uint32_t r = 0; r < job_.ranks.size(); ++r) {
            if (!job_.ranks[r].gpu.empty()) on_gpu[job_.ranks[r].gpu].insert(r);
        }
        for (const auto& [gpu, ranks] : on_gpu) {
            if (ranks.size() < 2) continue;
            out.push_back(names_of(ranks) + " share a GPU, on which they take turns: prices are too high");
            break;
        }
        if (job_.steps != 0 && !have_steps()) {
            out.push_back("no rank has steps: each recording as a whole is taken for one");
        }
        if (!job_.of_other_steps.empty()) {
            out.push_back("without steps of its own, and compared by those of another rank: " +
                          listed(job_.of_other_steps, name));
        }
        if (!job_.at_other_times.empty()) {
            out.push_back("recorded while no other rank was: " + listed(job_.at_other_times, name));
        }
        const collective_losses& lost = job_.lost;
        const auto count = [&](std::uint64_t number, std::string_view why) {
            if (number != 0)
                out.push_back(fmt::format("{} records of collectives left out: {}", with_thousands(number), why));
        };
        count(lost.before_recording, "they began before the last of their ranks recorded");
        count(lost.after_recording, "the recording of one of their ranks had ended");
        count(lost.absent_ranks, "there is no capture of some of their ranks");
        count(lost.ambiguous, "several collectives of one rank have the same communicator and sequence");
        count(lost.unplaced, "their kernel was not seen, or is another GPU's");
        count(lost.missing, "a rank that recorded has no such collective");
        count(lost.differing, "their members differ in function or size");
        bool is_by_order = job_.by[static_cast<std::size_t>(collective_match::order)] != 0;
        if (is_by_order) {
            out.push_back("collectives without a sequence are matched by their order in the step");
        }
        std::vector<std::string> apart;
        std::size_t without_name = 0;
        for (const host_clock& each : job_.clocks.hosts) {
            if (!each.is_aligned) {
                if (each.host.empty()) {
                    ++without_name;
                } else {
                    apart.push_back("host " + terminal_safe(each.host));
                }
            } else if (!each.fit.is_consistent) {
                out.push_back(
                    fmt::format("host {}: by any one clock a collective ends before its last rank has begun it",
                                terminal_safe(each.host)));
            }
        }
        if (without_name != 0) {
            apart.push_back(without_name == 1 ? "a trace without a host's name"
                                              : fmt::format("{} traces without a host's name", without_name));
        }
        if (!apart.empty()) {
            out.push_back(listed(apart, [](const std::string& each) { return each; }) +
                          (apart.size() + without_name > 2 || without_name > 1
                               ? " share no collective with the first host: their clocks are not aligned"
                               : " shares no collective with the first host: its clock is not aligned"));
        }
    }

    const job_ranks& job_;
    job_answer out_;
    std::optional<job_replay> replay_;
    std::optional<own_work> work_;
    replayed_steps base_;
    std::vector<std::vector<double>> excess_;    // by rank and step
    std::vector<own_work::usual_excess> usual_;  // by rank
    std::vector<std::uint32_t> compared_;        // ranks that have peers
    std::optional<step_noise> noise_;
    std::vector<bool> lacks_collectives_;  // by step
    double usual_bound_ns_ = 0;
    double least_ns_ = 0;
    std::vector<straggler> candidates_;
};

}  // namespace

std::string_view to_string(straggler_kind kind) noexcept {
    switch (kind) {
        case straggler_kind::rank:
            return "rank";
        case straggler_kind::group:
            return "group";
        case straggler_kind::host:
            return "host";
        case straggler_kind::network:
            break;
    }
    return "network";
}

double bus_factor(collective_function function, std::uint32_t ranks) noexcept {
    if (ranks < 2) return 0;
    const double n = ranks;
    switch (function) {
        case collective_function::all_reduce:
            return 2 * (n - 1) / n;
        // The call counts one rank's part.
        case collective_function::all_gather:
        case collective_function::reduce_scatter:
            return n - 1;
        case collective_function::all_to_all:
            return (n - 1) / n;
        case collective_function::broadcast:
        case collective_function::reduce:
        case collective_function::send:
        case collective_function::recv:
            return 1;
        default:
            return 0;
    }
}

job_answer answer_of(const job_ranks& job) { return answer_maker(job).run(); }

namespace {

// "; its host is late: CPU code".
std::string cause_in_verdict(const straggler& of) {
    constexpr std::string_view of_one = "its ";
    if (of.cause.empty()) return {};
    const bool are_several = of.kind == straggler_kind::group && of.cause.starts_with(of_one);
    return "; " + (are_several ? "their " + of.cause.substr(of_one.size()) : of.cause);
}

std::string verdict_on_steps(const job_ranks& job, const job_answer& of) {
    if (!of.no_verdict.empty()) return fmt::format("which rank holds the job up is not known: {}", of.no_verdict);
    const straggler* const worst = of.worst();
    if (worst == nullptr) {
        std::string text = fmt::format(
            "no {}rank{} holds the job up: one that costs more than {} of every step ({:.1f} %) would have been seen",
            job.missing.empty() ? "" : "captured ", of.without_peers.empty() ? "" : " that has peers",
            part_text(of.least_ns, of.step_ns), 100 * of.least_ns / std::max(of.step_ns, 1.0));
        if (!of.without_peers.empty()) {
            text += fmt::format("; {} call collectives as no other rank does", of.without_peers);
        }
        if (of.mean_wait_ns >= least_wait_share * of.step_ns) {
            text +=
                fmt::format("; a rank waits for others {} of each step in the mean ({:.1f} %)",
                            part_text(of.mean_wait_ns, of.step_ns), 100 * of.mean_wait_ns / std::max(of.step_ns, 1.0));
        }
        return text;
    }
    std::string where;
    const bool are_several = worst->kind == straggler_kind::group;
    if (worst->kind == straggler_kind::rank && job.clocks.hosts.size() > 1) {
        const std::string& host = job.ranks[worst->ranks.front()].host;
        if (!host.empty()) where = fmt::format(" (host {})", terminal_safe(host));
    }
    return fmt::format(
        "{}{} {} the job up: {} of each step's {} ({:.1f} %), {} of {} steps{}", terminal_safe(worst->name), where,
        are_several ? "hold" : "holds", part_text(worst->gain_ns, of.step_ns), part_text(of.step_ns, of.step_ns),
        100 * worst->gain_ns / std::max(of.step_ns, 1.0), worst->steps, of.steps, cause_in_verdict(*worst));
}

std::string missing_ranks_in(const job_ranks& job) {
    return "of " + text_of_ranges(job.missing) + " no work on a GPU was captured";
}

// So many sentences on what differs are part of the verdict.
std::size_t told_of_differences(const job_answer& of) {
    return of.standstill.stands.empty() ? most_of_verdict - 1 : most_of_verdict;
}

std::string capitalized_sentence(std::string text) {
    if (!text.empty() && text[0] >= 'a' && text[0] <= 'z') text[0] = static_cast<char>(text[0] - 'a' + 'A');
    return text;
}

}  // namespace

std::vector<std::string> sentences_on_differences(const job_ranks& job, const job_answer& of) {
    std::vector<std::string> out = sentences_of(job, of.standstill);
    out.insert(out.end(), of.differences.begin(), of.differences.end());
    return out;
}

std::string verdict_of(const job_ranks& job, const job_answer& of) {
    std::vector<std::string> all = sentences_on_differences(job, of);
    if (all.size() > told_of_differences(of)) all.resize(told_of_differences(of));
    if (of.standstill.stands.empty()) all.insert(all.begin(), verdict_on_steps(job, of));
    if (!job.missing.empty()) all.insert(all.begin() + 1, missing_ranks_in(job));
    // The ranks that begin sooner wait for it: their steps are longer, where they are too few for that to even out.
    const double beyond_ns = (of.recorded_ns - of.step_ns) * of.steps;
    if (of.standstill.stands.empty() && of.recorded_ns > most_alike * of.step_ns && of.step_ns > 0 &&
        beyond_ns < most_alike * of.begin_skew_ns) {
        all.insert(all.begin() + 1,
                   fmt::format("a step of the job is counted from when its last rank has begun it: the "
                               "ranks' own take up to {}",
                               part_text(of.recorded_ns, of.step_ns)));
    }
    std::string out = all.front();
    for (std::size_t i = 1; i < all.size(); ++i) out += ". " + capitalized_sentence(all[i]);
    return out;
}

std::string path_part_name(const job_ranks& job, const path_part& part) {
    if (part.rank != UINT32_MAX) return "own work of " + terminal_safe(job.name_of(part.rank));
    return fmt::format("{} {}, {} bytes", part.lacks_ranks ? "transfers of, or waiting in," : "transfers of",
                       to_string(part.function), with_thousands(part.bytes));
}

std::string gain_together(const job_answer& of, const straggler& group) {
    return fmt::format("the job's gain of {} together: {} of each step", terminal_safe(group.name),
                       part_text(group.gain_ns, of.step_ns));
}

std::vector<std::string> sentences_of(const job_ranks& job, const job_answer& of) {
    std::vector<std::string> out;
    out.push_back(verdict_of(job, of) + '.');
    if (!of.standstill.stands.empty()) out.push_back("In the steps before: " + verdict_on_steps(job, of) + '.');
    for (const straggler& each : of.stragglers) {
        std::string text = fmt::format(
            "If {} were as fast as {} peers, a step would take {} instead of {}: {}{} less, {} in the {} step{}",
            terminal_safe(each.name), each.kind == straggler_kind::group ? "their" : "its",
            part_text(of.step_ns - each.gain_ns, of.step_ns), part_text(of.step_ns, of.step_ns),
            part_text(each.gain_ns, of.step_ns),
            each.error_ns ? " ± " + error_text(*each.error_ns, of.step_ns) : " (one step has no interval)",
            total_text(each.gain_ns * of.steps), of.steps, of.steps == 1 ? "" : "s");
        text += each.is_passing ? fmt::format("; it is slower in {} of them.", each.steps) : ".";
        if (!each.cause.empty()) {
            text +=
                (each.ranks.size() > 1 && each.is_on_each && each.kind != straggler_kind::network ? " Cause, on each: "
                                                                                                  : " Cause: ") +
                each.cause;
            if (each.part_ns > 0) {
                text += fmt::format(", {} more a{} step", part_text(each.part_ns, of.step_ns),
                                    each.is_passing && each.kind != straggler_kind::network ? " slow" : "");
            }
            if (!each.place.empty()) text += ", in " + each.place;
            if (!each.where.empty()) text += ", " + each.where;
            text += '.';
        }
        if (!each.finding.empty()) {
            const std::string finding = terminal_safe(each.finding);
            const std::string line = terminal_safe(each.line);
            const bool names_line = line.empty() || finding.find(line) != std::string::npos;
            const std::string whose = !each.finding_of.empty() ? fmt::format("The dearest finding of {} alone",
                                                                             terminal_safe(each.finding_of))
                                      : each.ranks.size() > 1  ? "Their own dearest finding"
                                                               : "Its own dearest finding";
            text += fmt::format(" {}: {}{}.", whose, finding, names_line ? "" : ", " + line);
        }
        out.push_back(std::move(text));
    }
    if (of.no_verdict.empty() && of.exposed_ns > 0) {
        std::string text = fmt::format(
            "Exposed communication: with transfers that take no time a step would be {}{} shorter ({:.1f} %)",
            of.exposed_is_at_most ? "at most " : "", part_text(of.exposed_ns, of.step_ns),
            100 * of.exposed_ns / std::max(of.step_ns, 1.0));
        if (of.slowing_ns >= least_straggler_share * of.step_ns) {
            text += fmt::format(", {} of it because the work beside them takes longer than alone",
                                part_text(of.slowing_ns, of.step_ns));
        }
        if (of.exposed_is_at_most) {
            text += fmt::format("; part of it may be waiting for {}, which {} not captured",
                                job.missing.empty() ? "ranks" : text_of_ranges(job.missing),
                                is_one_number(job.missing) ? "was" : "were");
        }
        out.push_back(text + '.');
    }
    if (of.no_verdict.empty() && !of.path.empty()) {
        std::string text = "Critical path of the job: ";
        for (std::size_t i = 0; i < of.path.size() && i < most_pieces; ++i) {
            const path_part& part = of.path[i];
            text += fmt::format("{}{} {:.0f} %", i == 0 ? "" : ", ", path_part_name(job, part),
                                100 * part.ns / std::max(of.step_ns, 1.0));
        }
        if (of.path.size() > most_pieces) text += fmt::format(", {} more", of.path.size() - most_pieces);
        out.push_back(text + '.');
    }
    if (const std::size_t aligned = job.clocks.aligned_count(); aligned > 1) {
        const std::size_t all = job.clocks.hosts.size();
        out.push_back(
            fmt::format("Clocks of {}{} hosts are aligned by collectives, within {} at the worst (report clocks).",
                        aligned == all ? "" : fmt::format("{} of ", aligned), all, time_text(job.clocks.error_ns())));
    }
    const std::vector<std::string> differing = sentences_on_differences(job, of);
    for (std::size_t i = told_of_differences(of); i < differing.size(); ++i) out.push_back(differing[i] + '.');
    for (const std::string& remark : of.remarks) out.push_back(remark + '.');
    return out;
}

}  // namespace prof
