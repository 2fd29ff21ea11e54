// SPDX-License-Identifier: Apache-2.0
#include "ranks/job.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <numeric>
#include <optional>
#include <queue>
#include <set>
#include <tuple>
#include <unordered_map>
#include <utility>

#include "base/display_text.hpp"
#include "base/python_command.hpp"
#include "base/statistics.hpp"
#include "ranks/join_key.hpp"

namespace prof {
namespace {

constexpr std::size_t most_listed_pieces = 4;            // of a list of numbers
constexpr std::size_t most_samples = 20'000;             // of two hosts
constexpr std::int64_t most_apart_ns = 600'000'000'000;  // recordings of one job, without what says that they are one
constexpr std::size_t votes = 2'000;                     // collectives that say which steps of two ranks are one

std::int64_t begin_of(const rank_summary& of) { return of.windows.empty() ? 0 : of.windows.front().begin_ns; }
std::int64_t end_of(const rank_summary& of) { return of.windows.empty() ? 0 : of.windows.back().end_ns; }

bool overlap(const rank_summary& a, const rank_summary& b) {
    return begin_of(a) < end_of(b) && begin_of(b) < end_of(a);
}

// Whether the second is a capture of the rank that the first one has. Where it is not known when the process was
// created, another one may have its number and its rank: then the windows are the same to the nanosecond.
bool is_copy(const rank_summary& of, const rank_summary& is) {
    if (!of.rank || of.program != is.program || !overlap(of, is)) return false;
    if (!of.host.empty() && !of.start.empty()) return true;
    return std::all_of(is.windows.begin(), is.windows.end(), [&](const rank_window& each) {
        return std::any_of(of.windows.begin(), of.windows.end(), [&](const rank_window& other) {
            return each.begin_ns == other.begin_ns && each.end_ns == other.end_ns;
        });
    });
}

struct joined_summaries {
    std::vector<rank_summary> of;
    std::vector<capture_copy> copies;  // `kept` is an index into `of`
};

// Windows of one process that have a capture each are one, and copies are left out.
joined_summaries joined_windows(std::vector<rank_summary> all) {
    std::stable_sort(all.begin(), all.end(),
                     [](const rank_summary& a, const rank_summary& b) { return begin_of(a) < begin_of(b); });
    joined_summaries out;
    std::map<std::tuple<std::string, std::string, std::int64_t, std::int64_t>, std::size_t> known;
    for (rank_summary& each : all) {
        if (each.pid) {
            const auto [of, is_new] =
                known.try_emplace({each.clock, each.start, *each.pid, each.rank.value_or(-1)}, out.of.size());
            if (!is_new && is_copy(out.of[of->second], each)) {
                out.copies.push_back({each.path, out.of[of->second].path, static_cast<std::uint32_t>(of->second)});
                continue;
            }
            if (!is_new && !each.host.empty() && !overlap(out.of[of->second], each)) {
                add_window(out.of[of->second], std::move(each));
                continue;
            }
        }
        out.of.push_back(std::move(each));
    }
    return out;
}

// What one rank calls on one communicator, without numbers.
struct ordered_collective {
    collective_function function = collective_function::other;
    std::uint64_t bytes = 0;
    std::int64_t begin_ns = 0;
    std::int64_t end_ns = 0;
    std::uint64_t step = UINT64_MAX;  // its number; UINT64_MAX: not known
};
struct ordered_list {
    std::uint32_t clock = 0;  // times of lists with the same one can be compared
    std::vector<ordered_collective> of;
};

// How well two of them could be one; 0: not at all.
int likeness(const ordered_collective& a, const ordered_collective& b, bool is_one_clock) {
    // Others than these may have another size on each rank, and first ranks that end before the last one begins.
    const bool is_alike = a.function == collective_function::all_reduce || a.function == collective_function::reduce ||
                          a.function == collective_function::reduce_scatter;
    if (a.function != b.function || (is_alike && a.bytes != b.bytes)) return 0;
    const int is_like = (a.bytes == b.bytes ? 2 : 0) + (a.step != UINT64_MAX && a.step == b.step ? 1 : 0);
    if (!is_one_clock) return 4 + is_like;
    if (a.begin_ns < b.end_ns && b.begin_ns < a.end_ns) return 6 + is_like;
    return is_alike && a.function != collective_function::reduce ? 0 : 4 + is_like;
}

// By index into `list`: the index of the same operation in `reference`; npos: none. In the order of both, as many as
// possible, as like as possible. Linear where nothing is missing, else quadratic, up to a bound.
std::vector<std::uint32_t> places_in(const ordered_list& reference, const ordered_list& list) {
    constexpr std::size_t most_cells = 16'000'000;
    const bool is_one_clock = reference.clock == list.clock;
    const std::size_t rows = list.of.size();
    const std::size_t columns = reference.of.size();
    std::vector<std::uint32_t> out(rows, npos);
    const auto like = [&](std::size_t i, std::size_t j) { return likeness(list.of[i], reference.of[j], is_one_clock); };
    const int good = is_one_clock ? 8 : 7;
    const bool has_steps = std::any_of(list.of.begin(), list.of.end(),
                                       [](const ordered_collective& each) { return each.step != UINT64_MAX; });
    if (rows == columns) {
        std::size_t fits = 0, fit_well = 0;
        for (std::size_t i = 0; i < rows; ++i) {
            const int is = like(i, i);
            fits += is > 0 ? 1 : 0;
            fit_well += is >= good ? 1 : 0;
        }
        // Without steps and a clock in common nothing else could be said.
        if (fits == rows && (fit_well >= rows - rows / 10 || (!is_one_clock && !has_steps))) {
            std::iota(out.begin(), out.end(), 0U);
            return out;
        }
    } else if (!is_one_clock && !has_steps) {
        return out;
    }
    // The longest common subsequence, by weight, along the diagonal.
    const std::size_t width = std::min(columns, most_cells / std::max<std::size_t>(rows, 1));
    const auto first_of = [&](std::size_t row) {
        const std::size_t middle = row * columns / std::max<std::size_t>(rows, 1);
        return std::min(middle > width / 2 ? middle - width / 2 : 0, columns - width);
    };
    std::vector<std::int64_t> above(columns + 1, 0), now(columns + 1, 0);
    std::vector<std::uint8_t> way(rows * width, 0);  // 1: these two; 2: the one before in the reference; 0: in the list
    for (std::size_t i = 0; i < rows; ++i) {
        const std::size_t first = first_of(i);
        std::copy(above.begin(), above.begin() + static_cast<std::ptrdiff_t>(first) + 1, now.begin());
        for (std::size_t j = first; j < first + width; ++j) {
            std::uint8_t& is = way[i * width + (j - first)];
            now[j + 1] = above[j + 1];
            is = 0;
            if (now[j] > now[j + 1]) {
                now[j + 1] = now[j];
                is = 2;
            }
            const int fits = like(i, j);
            if (fits > 0 && above[j] + fits > now[j + 1]) {
                now[j + 1] = above[j] + fits;
                is = 1;
            }
        }
        std::fill(now.begin() + static_cast<std::ptrdiff_t>(first + width) + 1, now.end(), now[first + width]);
        std::swap(above, now);
    }
    std::size_t j = columns;
    for (std::size_t i = rows; i > 0;) {
        const std::size_t first = first_of(i - 1);
        j = std::min(j, first + width);
        if (j <= first) {
            --i;
            continue;
        }
        const std::uint8_t is = way[(i - 1) * width + (j - 1 - first)];
        if (is == 1) {
            out[i - 1] = static_cast<std::uint32_t>(j - 1);
            --i;
            --j;
        } else if (is == 2) {
            --j;
        } else {
            --i;
        }
    }
    return out;
}

class apart_jobs {
public:
    explicit apart_jobs(const std::vector<rank_summary>& all) : all_(all), above_(all.size()) {
        std::iota(above_.begin(), above_.end(), std::size_t{0});
    }

    // By summary: the number of its job.
    std::vector<std::size_t> run() {
        // A communicator's id is drawn at random, so that two jobs do not share one. Names of process groups they may.
        std::unordered_map<std::uint64_t, std::size_t> by_communicator;
        for (std::size_t i = 0; i < all_.size(); ++i) {
            std::set<std::uint32_t> of_plugin;
            for (const rank_collective& each : all_[i].collectives) {
                if (each.by == collective_match::sequence) of_plugin.insert(each.communicator);
            }
            for (const rank_call& each : all_[i].calls) {
                if (each.by == collective_match::sequence) of_plugin.insert(each.communicator);
            }
            for (const std::uint32_t each : of_plugin) {
                const auto [first, is_new] = by_communicator.try_emplace(all_[i].communicators[each].key, i);
                if (!is_new) above_[top_of(i)] = top_of(first->second);
            }
        }
        // The rest: at one time, of one program and size, and no rank twice.
        struct group {
            std::size_t top = 0;
            std::set<std::int64_t> ranks;
            std::size_t first = 0;
        };
        std::vector<group> groups;
        std::map<std::size_t, std::size_t> group_of_top;
        for (std::size_t i = 0; i < all_.size(); ++i) {
            const std::size_t top = top_of(i);
            const auto [known, is_new] = group_of_top.try_emplace(top, groups.size());
            if (is_new) groups.push_back({top, {}, i});
            if (all_[i].rank) groups[known->second].ranks.insert(*all_[i].rank);
        }
        for (std::size_t b = 0; b < groups.size(); ++b) {
            for (std::size_t a = 0; a < b; ++a) {
                if (top_of(groups[a].top) != groups[a].top || !may_join(groups[a].first, groups[b].first)) continue;
                std::vector<std::int64_t> shared;
                std::set_intersection(groups[a].ranks.begin(), groups[a].ranks.end(), groups[b].ranks.begin(),
                                      groups[b].ranks.end(), std::back_inserter(shared));
                if (!shared.empty()) {
                    rivals_.emplace_back(groups[a].top, groups[b].top);
                    continue;
                }
                above_[groups[b].top] = groups[a].top;
                groups[a].ranks.insert(groups[b].ranks.begin(), groups[b].ranks.end());
                break;
            }
        }
        std::vector<std::size_t> out(all_.size());
        for (std::size_t i = 0; i < all_.size(); ++i) out[i] = top_of(i);
        return out;
    }

    // By the number of a job: summaries that have a rank of it, and would be of it else. After run().
    std::map<std::size_t, std::size_t> rivals(const std::vector<std::size_t>& job_of) {
        std::map<std::size_t, std::set<std::size_t>> jobs;
        for (const auto& [a, b] : rivals_) {
            jobs[top_of(a)].insert(top_of(b));
            jobs[top_of(b)].insert(top_of(a));
        }
        std::map<std::size_t, std::set<std::int64_t>> ranks;
        for (std::size_t i = 0; i < all_.size(); ++i) {
            if (all_[i].rank) ranks[job_of[i]].insert(*all_[i].rank);
        }
        std::map<std::size_t, std::size_t> out;
        for (std::size_t i = 0; i < all_.size(); ++i) {
            for (const auto& [other, rivals_of] : jobs) {
                const bool is_rival = other != job_of[i] && rivals_of.contains(job_of[i]) && all_[i].rank &&
                                      ranks[other].contains(*all_[i].rank);
                out[other] += is_rival ? 1 : 0;
            }
        }
        return out;
    }

private:
    bool may_join(std::size_t a, std::size_t b) const {
        const rank_summary& one = all_[a];
        const rank_summary& other = all_[b];
        const std::int64_t apart_ns = std::max(begin_of(one), begin_of(other)) - std::min(end_of(one), end_of(other));
        const bool is_one_run = !one.run_id.empty() && one.run_id == other.run_id;
        return (is_one_run || apart_ns <= most_apart_ns) && one.world_size == other.world_size &&
               one.program == other.program;
    }

    std::size_t top_of(std::size_t i) {
        while (above_[i] != i) i = above_[i] = above_[above_[i]];
        return i;
    }

    const std::vector<rank_summary>& all_;
    std::vector<std::size_t> above_;
    std::vector<std::pair<std::size_t, std::size_t>> rivals_;
};

class job_maker {
public:
    explicit job_maker(job_ranks& out) : out_(out) {}

    void run() {
        find_hosts();
        find_missing_ranks();
        number_ordered();
        number_ordered_calls();
        match();
        find_clocks();
        leave_out_early();
        order_matched();
        lend_steps();
        find_steps();
        find_other_times();
    }

private:
    void find_hosts() {
        std::map<std::string, std::uint32_t> known;
        for (std::uint32_t r = 0; r < out_.ranks.size(); ++r) {
            const rank_summary& of = out_.ranks[r];
            // Without a host's name each rank has a clock of its own.
            const std::string clock = of.host.empty() ? fmt::format("\n{}", r) : of.clock;
            const auto [host, is_new] = known.try_emplace(clock, static_cast<std::uint32_t>(out_.clocks.hosts.size()));
            if (is_new) out_.clocks.hosts.push_back({clock, of.host, true, {}});
            out_.clocks.of_rank.push_back(host->second);
        }
    }

    void find_missing_ranks() {
        std::set<std::int64_t> there;
        std::int64_t size = 0;
        for (std::uint32_t r = 0; r < out_.ranks.size(); ++r) {
            const rank_summary& of = out_.ranks[r];
            if (of.rank) there.insert(*of.rank);
            size = std::max(size, of.world_size.value_or(0));
            out_.lost.unplaced += of.unplaced;
        }
        if (there.empty()) return;
        std::int64_t next = 0;
        for (const std::int64_t rank : there) {
            if (rank > next) out_.missing.push_back({next, rank - 1});
            next = std::max(next, rank + 1);
        }
        if (size > next) out_.missing.push_back({next, size - 1});
    }

    // Those without a sequence: each rank's are compared with those of the rank that has most.
    void number_ordered() {
        std::map<std::uint64_t, std::map<std::uint32_t, std::vector<std::uint32_t>>> lists;
        for (std::uint32_t r = 0; r < out_.ranks.size(); ++r) {
            const std::vector<rank_collective>& of = out_.ranks[r].collectives;
            for (std::uint32_t c = 0; c < of.size(); ++c) {
                if (of[c].by == collective_match::order) lists[of[c].order_key][r].push_back(c);
            }
        }
        for (auto& [key, by_rank] : lists) {
            for (auto& [rank, list] : by_rank) {
                const std::vector<rank_collective>& of = out_.ranks[rank].collectives;
                std::stable_sort(list.begin(), list.end(), [&](std::uint32_t a, std::uint32_t b) {
                    return of[a].enqueued_ns < of[b].enqueued_ns;
                });
            }
            const auto most = std::max_element(by_rank.begin(), by_rank.end(), [](const auto& a, const auto& b) {
                return a.second.size() < b.second.size();
            });
            const ordered_list reference = ordered(most->first, most->second);
            std::map<std::uint32_t, std::uint64_t>& next = next_numbers_[key];
            for (const auto& [rank, list] : by_rank) {
                const bool is_reference = rank == most->first;
                const std::vector<std::uint32_t> same =
                    is_reference ? std::vector<std::uint32_t>() : places_in(reference, ordered(rank, list));
                for (std::uint32_t i = 0; i < list.size(); ++i) {
                    const std::uint32_t number = is_reference ? i : same[i];
                    join_key is;
                    is.add(key).add(number);
                    if (number == npos) is.add(rank).add(i);
                    out_.ranks[rank].collectives[list[i]].key = is.value();
                    next[rank] = number == npos ? next[rank] + 1 : number + std::uint64_t{1};
                }
            }
        }
    }

    // Calls without an end come after those that have one, and are numbered on. A rank that has none of these, while
    // others do, began at a number that is not known.
    void number_ordered_calls() {
        for (std::uint32_t r = 0; r < out_.ranks.size(); ++r) {
            std::map<std::uint64_t, std::int64_t> latest_ns;  // by order_key: the latest call with an end
            for (const rank_collective& each : out_.ranks[r].collectives) {
                if (each.by != collective_match::order) continue;
                const auto known = latest_ns.try_emplace(each.order_key, each.enqueued_ns).first;
                known->second = std::max(known->second, each.enqueued_ns);
            }
            for (rank_call& each : out_.ranks[r].calls) {
                if (each.by != collective_match::order) continue;
                const auto latest = latest_ns.find(each.order_key);
                if (latest != latest_ns.end() && each.called_ns <= latest->second) continue;
                const auto list = next_numbers_.find(each.order_key);
                const bool has_others = list != next_numbers_.end() && !unended_lists_.contains(each.order_key);
                if (has_others && !list->second.contains(r)) continue;
                if (!has_others) unended_lists_.insert(each.order_key);
                std::uint64_t& next = next_numbers_[each.order_key][r];
                each.number = next++;
                each.key = join_key().add(each.order_key).add(each.number).value();
            }
        }
    }

    ordered_list ordered(std::uint32_t rank, const std::vector<std::uint32_t>& list) const {
        ordered_list out{.clock = out_.ranks[rank].host.empty() ? npos - 1 - rank : out_.clocks.of_rank[rank],
                         .of = {}};
        const rank_summary& from = out_.ranks[rank];
        for (const std::uint32_t c : list) {
            const rank_collective& is = from.collectives[c];
            const bool has_step = from.has_steps && is.step < from.steps.size();
            out.of.push_back(
                {is.function, is.bytes, is.begin_ns, is.end_ns, has_step ? from.steps[is.step].number : UINT64_MAX});
        }
        return out;
    }

    struct keyed {
        std::uint64_t key;
        collective_member of;
    };

    void match() {
        std::vector<keyed> all;
        std::size_t count = 0;
        for (const rank_summary& of : out_.ranks) count += of.collectives.size();
        all.reserve(count);
        for (std::uint32_t r = 0; r < out_.ranks.size(); ++r) {
            const std::vector<rank_collective>& of = out_.ranks[r].collectives;
            for (std::uint32_t c = 0; c < of.size(); ++c) all.push_back({of[c].key, {r, c}});
        }
        std::sort(all.begin(), all.end(), [](const keyed& a, const keyed& b) {
            return std::tie(a.key, a.of.rank, a.of.collective) < std::tie(b.key, b.of.rank, b.of.collective);
        });
        for (std::size_t from = 0; from < all.size();) {
            std::size_t to = from + 1;
            while (to < all.size() && all[to].key == all[from].key) ++to;
            take(std::span(all).subspan(from, to - from));
            from = to;
        }
    }

    void take(std::span<const keyed> group) {
        const rank_collective& first = out_.at(group.front().of);
        for (std::size_t i = 1; i < group.size(); ++i) {
            if (group[i].of.rank == group[i - 1].of.rank) {
                out_.lost.ambiguous += group.size();
                return;
            }
        }
        std::size_t expected = first.members;
        if (expected == 0) expected = out_.ranks.size();
        if (group.size() > expected) {
            out_.lost.ambiguous += group.size();
            return;
        }
        for (const keyed& each : group) {
            const rank_collective& other = out_.at(each.of);
            const bool differs =
                other.function != first.function || (has_one_size(first.function) && other.bytes != first.bytes);
            if (!differs) continue;
            out_.lost.differing += group.size();
            // The one that differs from most others.
            const keyed* odd = &each;
            if (group.size() > 2) {
                const auto like_first =
                    static_cast<std::size_t>(std::count_if(group.begin(), group.end(), [&](const keyed& one) {
                        return out_.at(one.of).function == first.function && out_.at(one.of).bytes == first.bytes;
                    }));
                if (2 * like_first < group.size()) odd = &group.front();
            }
            add_mismatch({odd->of.rank, odd == &group.front() ? each.of : group.front().of, false});
            add_matched(group, false);
            return;
        }
        if (group.size() < expected) {
            partial_.push_back(group.front().of);
            for (const keyed& each : group) members_of_partial_.push_back(each.of);
            partial_sizes_.push_back(static_cast<std::uint32_t>(group.size()));
            return;
        }
        add_matched(group, true);
        // How many ranks its communicator has is not known, and some were not captured.
        out_.matched.back().lacks_arrivals = first.members == 0 && !out_.missing.empty();
        if (group.size() > 1) out_.by[static_cast<std::size_t>(first.by)] += group.size();
    }

    void add_matched(std::span<const keyed> group, bool is_whole) {
        out_.matched.push_back(
            {static_cast<std::uint32_t>(out_.members.size()), static_cast<std::uint32_t>(group.size()), is_whole});
        for (const keyed& each : group) out_.members.push_back(each.of);
    }

    // Other functions may give each rank another number of bytes.
    static bool has_one_size(collective_function function) {
        return function == collective_function::all_reduce || function == collective_function::reduce_scatter ||
               function == collective_function::reduce;
    }

    void add_mismatch(const collective_mismatch& of) {
        if (out_.mismatches.size() < most_mismatches) out_.mismatches.push_back(of);
    }

    // Two hosts that share collectives, by their indices.
    void find_clocks() {
        explain_partial();
        auto& hosts = out_.clocks.hosts;
        if (hosts.size() < 2) return;
        struct seen {
            std::uint32_t host = 0;
            std::int64_t last_begin_ns = INT64_MIN;
            std::int64_t first_end_ns = INT64_MAX;
            std::vector<std::int64_t> ends;
        };
        std::map<std::pair<std::uint32_t, std::uint32_t>, std::vector<clock_sample>> pairs;
        std::vector<seen> on;
        std::vector<std::uint32_t> place(hosts.size(), npos);  // in `on`, by host
        for (const matched_collective& of : out_.matched) {
            if (of.count < 2) continue;
            for (const seen& each : on) place[each.host] = npos;
            on.clear();
            for (const collective_member& member : out_.members_of(of)) {
                const std::uint32_t host = out_.clocks.of_rank[member.rank];
                if (place[host] == npos) {
                    place[host] = static_cast<std::uint32_t>(on.size());
                    on.push_back({.host = host, .ends = {}});
                }
                seen& found = on[place[host]];
                const rank_collective& is = out_.at(member);
                found.last_begin_ns = std::max(found.last_begin_ns, is.begin_ns);
                found.first_end_ns = std::min(found.first_end_ns, is.end_ns);
                found.ends.push_back(is.end_ns);
            }
            if (on.size() < 2) continue;
            std::sort(on.begin(), on.end(), [](const seen& a, const seen& b) { return a.host < b.host; });
            const auto first_end_ns = static_cast<std::int64_t>(median(on.front().ends));
            for (std::size_t i = 1; i < on.size(); ++i) {
                auto& samples = pairs[{on.front().host, on[i].host}];
                if (samples.size() >= most_samples) thin(samples);
                samples.push_back({first_end_ns, static_cast<std::int64_t>(median(on[i].ends)) - first_end_ns,
                                   on[i].last_begin_ns - on.front().first_end_ns,
                                   on[i].first_end_ns - on.front().last_begin_ns});
            }
        }
        struct edge {
            std::uint32_t to;
            clock_fit fit;  // `to` against the host that has the edge
        };
        std::vector<std::vector<edge>> edges(hosts.size());
        for (auto& [hosts_of, samples] : pairs) {
            const clock_fit fit = fit_clock(std::move(samples));
            edges[hosts_of.first].push_back({hosts_of.second, fit});
            clock_fit back = fit;
            back.at_ns = fit.at_ns + fit.offset_ns;
            back.offset_ns = -fit.offset_ns;
            back.drift = -fit.drift / (1 + fit.drift);
            edges[hosts_of.second].push_back({hosts_of.first, back});
        }
        // From the first host on, by the way with the smallest error.
        std::vector<double> errors(hosts.size(), INFINITY);
        errors[0] = 0;
        for (std::size_t i = 1; i < hosts.size(); ++i) hosts[i].is_aligned = false;
        using entry = std::pair<double, std::uint32_t>;
        std::priority_queue<entry, std::vector<entry>, std::greater<>> next;
        next.emplace(0, 0);
        while (!next.empty()) {
            const auto [error, from] = next.top();
            next.pop();
            if (error > errors[from]) continue;
            for (const edge& each : edges[from]) {
                const double with_it = error + each.fit.error_ns();
                if (with_it >= errors[each.to]) continue;
                errors[each.to] = with_it;
                host_clock& to = hosts[each.to];
                to.is_aligned = true;
                to.fit = each.fit;
                if (from != 0) {
                    // Both together: what the edge says at its moment, seen from the first host.
                    const clock_fit& above = hosts[from].fit;
                    const std::int64_t own_ns = each.fit.at_ns + each.fit.offset_ns;
                    const auto after = static_cast<double>(each.fit.at_ns - above.offset_ns - above.at_ns);
                    const std::int64_t first_ns = each.fit.at_ns - above.offset_ns - std::llround(above.drift * after);
                    to.fit.at_ns = first_ns;
                    to.fit.offset_ns = own_ns - first_ns;
                    to.fit.drift = (1 + each.fit.drift) * (1 + above.drift) - 1;
                    to.fit.statistical_ns += above.statistical_ns;
                    to.fit.systematic_ns += above.systematic_ns;
                    to.fit.is_consistent = to.fit.is_consistent && above.is_consistent;
                }
                next.emplace(with_it, each.to);
            }
        }
    }

    // Every second one.
    static void thin(std::vector<clock_sample>& samples) {
        std::size_t kept = 0;
        for (std::size_t i = 0; i < samples.size(); i += 2) samples[kept++] = samples[i];
        samples.resize(kept);
    }

    // Why a collective does not have all of its members: by what the others have of its communicator.
    void explain_partial() {
        struct extent {
            std::int64_t first_ns = INT64_MAX;  // begin of what all members have
            std::int64_t last_ns = INT64_MIN;
        };
        // By rank that has some: the first and last complete collective of each communicator.
        std::map<std::pair<std::uint32_t, std::uint64_t>, extent> complete;
        std::map<std::uint64_t, std::set<std::uint32_t>> ranks_of;  // communicator
        for (const matched_collective& of : out_.matched) {
            if (!of.is_whole) continue;
            for (const collective_member& member : out_.members_of(of)) {
                const rank_collective& is = out_.at(member);
                const std::uint64_t key = communicator_of(member);
                extent& has = complete[{member.rank, key}];
                has.first_ns = std::min(has.first_ns, is.enqueued_ns);
                has.last_ns = std::max(has.last_ns, is.enqueued_ns);
                ranks_of[key].insert(member.rank);
            }
        }
        std::map<std::uint64_t, std::set<std::uint32_t>> captured;  // by communicator: ranks that have some of its
        for (std::uint32_t r = 0; r < out_.ranks.size(); ++r) {
            for (const rank_collective& each : out_.ranks[r].collectives) {
                captured[out_.ranks[r].communicators[each.communicator].key].insert(r);
            }
        }
        // Of a communicator of which some ranks have no capture, what all others have.
        std::map<std::uint64_t, std::uint32_t> largest;
        for (std::size_t i = 0; i < partial_.size(); ++i) {
            std::uint32_t& size = largest[communicator_of(partial_[i])];
            size = std::max(size, partial_sizes_[i]);
        }
        std::size_t next = 0;
        for (std::size_t i = 0; i < partial_.size(); ++i) {
            const std::span<const collective_member> members(members_of_partial_.data() + next, partial_sizes_[i]);
            next += partial_sizes_[i];
            const std::uint64_t key = communicator_of(members.front());
            const auto known = ranks_of.find(key);
            const std::size_t expected =
                out_.at(members.front()).members == 0 ? out_.ranks.size() : out_.at(members.front()).members;
            if (known == ranks_of.end() && captured[key].size() < expected) {
                if (members.size() == 1 || members.size() < largest[key]) {
                    out_.lost.absent_ranks += members.size();
                    continue;
                }
                add_partial(members, true);
                out_.matched.back().lacks_arrivals = out_.at(members.front()).members != 0 || !out_.missing.empty();
                out_.by[static_cast<std::size_t>(out_.at(members.front()).by)] += members.size();
                continue;
            }
            if (known == ranks_of.end()) {
                out_.lost.missing += members.size();
                if (members.size() > 1) add_partial(members, false);
                continue;
            }
            const extent& has = complete[{members.front().rank, key}];
            const std::int64_t at_ns = out_.at(members.front()).enqueued_ns;
            if (at_ns < has.first_ns) {
                out_.lost.before_recording += members.size();
            } else if (at_ns > has.last_ns) {
                out_.lost.after_recording += members.size();
            } else {
                out_.lost.missing += members.size();
                if (members.size() > 1) add_partial(members, false);
                // Of an order alone it is known only where clocks say which ones could be the same.
                const bool is_by_order = out_.at(members.front()).by == collective_match::order;
                if (is_by_order && out_.clocks.hosts.size() > 1) continue;
                for (const std::uint32_t rank : known->second) {
                    const bool has_it = std::any_of(members.begin(), members.end(),
                                                    [&](const collective_member& each) { return each.rank == rank; });
                    if (!has_it) add_mismatch({rank, members.front(), true});
                }
            }
        }
    }

    void add_partial(std::span<const collective_member> members, bool is_whole) {
        out_.matched.push_back({static_cast<std::uint32_t>(out_.members.size()),
                                static_cast<std::uint32_t>(members.size()), is_whole, !is_whole});
        out_.members.insert(out_.members.end(), members.begin(), members.end());
    }

    std::uint64_t communicator_of(collective_member of) const {
        return out_.ranks[of.rank].communicators[out_.at(of).communicator].key;
    }

    // Ranks begin to record at different times: the early ones wait in a collective for those that are not there yet.
    void leave_out_early() {
        std::vector<matched_collective> kept;
        for (const matched_collective& of : out_.matched) {
            std::int64_t recorded_ns = INT64_MIN;
            std::int64_t begin_ns = INT64_MAX;
            for (const collective_member& member : out_.members_of(of)) {
                const rank_summary& rank = out_.ranks[member.rank];
                const std::int64_t own_ns = out_.at(member).begin_ns;
                begin_ns = std::min(begin_ns, out_.aligned(member.rank, own_ns));
                // The window in which it began.
                const auto after =
                    std::partition_point(rank.windows.begin(), rank.windows.end(),
                                         [&](const rank_window& each) { return each.begin_ns <= own_ns; });
                if (after == rank.windows.begin()) continue;
                recorded_ns = std::max(recorded_ns, out_.aligned(member.rank, (after - 1)->begin_ns));
            }
            if (of.count > 1 && begin_ns < recorded_ns) {
                if (!of.is_whole) continue;  // counted
                out_.lost.before_recording += of.count;
                out_.by[static_cast<std::size_t>(out_.at(out_.members[of.first]).by)] -= of.count;
            } else {
                kept.push_back(of);
            }
        }
        out_.matched = std::move(kept);
    }

    void order_matched() {
        std::vector<std::pair<std::int64_t, matched_collective>> all;
        all.reserve(out_.matched.size());
        for (const matched_collective& of : out_.matched) {
            const collective_member first = out_.members[of.first];
            all.emplace_back(out_.aligned(first.rank, out_.at(first).begin_ns), of);
        }
        std::stable_sort(all.begin(), all.end(), [](const auto& a, const auto& b) { return a.first < b.first; });
        for (std::size_t i = 0; i < all.size(); ++i) out_.matched[i] = all[i].second;
    }

    // A rank without steps of its own has those of another one, by the clock.
    void lend_steps() {
        std::uint32_t from = UINT32_MAX;
        for (std::uint32_t r = 0; r < out_.ranks.size() && from == UINT32_MAX; ++r) {
            const bool has_any = out_.ranks[r].has_steps && !out_.ranks[r].steps.empty();
            if (has_any && out_.clocks.hosts[out_.clocks.of_rank[r]].is_aligned) from = r;
        }
        if (from == UINT32_MAX) return;
        for (std::uint32_t r = 0; r < out_.ranks.size(); ++r) {
            rank_summary& of = out_.ranks[r];
            if (of.has_steps || of.windows.empty()) continue;
            out_.of_other_steps.push_back(r);
            of.steps.clear();
            for (rank_collective& each : of.collectives) each.step = UINT32_MAX;
            if (!out_.clocks.hosts[out_.clocks.of_rank[r]].is_aligned) continue;
            const auto own = [&](std::int64_t at_ns) { return out_.clocks.own(r, out_.aligned(from, at_ns)); };
            for (const rank_step& step : out_.ranks[from].steps) {
                const rank_step is{.number = step.number,
                                   .from_ns = own(step.from_ns),
                                   .to_ns = own(step.to_ns),
                                   .host_from_ns = own(step.host_from_ns),
                                   .host_to_ns = own(step.host_to_ns)};
                const bool is_recorded =
                    std::any_of(of.windows.begin(), of.windows.end(), [&](const rank_window& window) {
                        return window.begin_ns <= is.from_ns && is.to_ns <= window.end_ns;
                    });
                if (is_recorded) of.steps.push_back(is);
            }
            std::map<std::uint64_t, std::uint32_t> index;
            for (std::uint32_t s = 0; s < of.steps.size(); ++s) index[of.steps[s].number] = s;
            for (const matched_collective& group : out_.matched) {
                std::optional<std::uint64_t> number;
                for (const collective_member& each : out_.members_of(group)) {
                    const rank_summary& other = out_.ranks[each.rank];
                    const std::uint32_t step = out_.at(each).step;
                    if (each.rank == from && step < other.steps.size()) number = other.steps[step].number;
                }
                if (!number || !index.contains(*number)) continue;
                for (const collective_member& each : out_.members_of(group)) {
                    if (each.rank == r) of.collectives[each.collective].step = index[*number];
                }
            }
        }
    }

    // Which step of a rank is which of the first one with steps: by the collectives that they share, else by number.
    void find_steps() {
        const std::size_t count = out_.ranks.size();
        out_.first_step.assign(count, 0);
        std::vector<std::int64_t> shift(count, 0);
        std::uint32_t reference = UINT32_MAX;
        for (std::uint32_t r = 0; r < count && reference == UINT32_MAX; ++r) {
            if (!out_.ranks[r].steps.empty()) reference = r;
        }
        if (reference == UINT32_MAX) return;
        // A rank is compared with one whose shift is known, by what both have.
        std::vector<bool> is_known(count, false);
        is_known[reference] = true;
        for (bool has_more = true; has_more;) {
            has_more = false;
            std::vector<std::map<std::int64_t, std::size_t>> votes_of(count);
            std::vector<std::size_t> cast(count, 0);
            for (const matched_collective& of : out_.matched) {
                const std::span<const collective_member> members = out_.members_of(of);
                const auto known = std::find_if(members.begin(), members.end(), [&](const collective_member& each) {
                    return is_known[each.rank] && out_.at(each).step != UINT32_MAX;
                });
                if (known == members.end()) continue;
                const std::int64_t step = std::int64_t{out_.at(*known).step} - shift[known->rank];
                for (const collective_member& each : members) {
                    if (is_known[each.rank] || out_.at(each).step == UINT32_MAX || cast[each.rank] >= votes) continue;
                    ++votes_of[each.rank][std::int64_t{out_.at(each).step} - step];
                    ++cast[each.rank];
                }
            }
            for (std::uint32_t r = 0; r < count; ++r) {
                if (votes_of[r].empty()) continue;
                shift[r] = std::max_element(votes_of[r].begin(), votes_of[r].end(), [](const auto& a, const auto& b) {
                               return a.second < b.second;
                           })->first;
                is_known[r] = true;
                has_more = true;
            }
        }
        std::int64_t first = 0;
        std::int64_t end = INT64_MAX;
        for (std::uint32_t r = 0; r < count; ++r) {
            const rank_summary& of = out_.ranks[r];
            if (of.steps.empty()) continue;
            if (!is_known[r]) {
                shift[r] = static_cast<std::int64_t>(out_.ranks[reference].steps.front().number) -
                           static_cast<std::int64_t>(of.steps.front().number);
            }
            first = std::max(first, -shift[r]);
            end = std::min(end, static_cast<std::int64_t>(of.steps.size()) - shift[r]);
        }
        if (end <= first || end == INT64_MAX) return;
        out_.steps = static_cast<std::uint32_t>(end - first);
        for (std::uint32_t r = 0; r < count; ++r) {
            if (!out_.ranks[r].steps.empty()) out_.first_step[r] = static_cast<std::uint32_t>(first + shift[r]);
        }
    }

    void find_other_times() {
        if (out_.ranks.size() < 2) return;
        for (std::uint32_t r = 0; r < out_.ranks.size(); ++r) {
            bool has_any = false;
            for (std::uint32_t other = 0; other < out_.ranks.size() && !has_any; ++other) {
                if (other == r) continue;
                has_any = out_.aligned(r, begin_of(out_.ranks[r])) < out_.aligned(other, end_of(out_.ranks[other])) &&
                          out_.aligned(other, begin_of(out_.ranks[other])) < out_.aligned(r, end_of(out_.ranks[r]));
            }
            if (!has_any) out_.at_other_times.push_back(r);
        }
    }

    job_ranks& out_;
    // Matched by order: by list and rank, the number of the next one.
    std::map<std::uint64_t, std::map<std::uint32_t, std::uint64_t>> next_numbers_;
    std::set<std::uint64_t> unended_lists_;  // of these: of calls without an end alone
    std::vector<collective_member> partial_;
    std::vector<collective_member> members_of_partial_;
    std::vector<std::uint32_t> partial_sizes_;
};

}  // namespace

std::string list_of_numbers(const std::vector<std::int64_t>& numbers) {
    std::vector<std::string> pieces;
    std::size_t listed = 0;
    for (std::size_t from = 0; from < numbers.size() && pieces.size() < most_listed_pieces;) {
        std::size_t to = from + 1;
        while (to < numbers.size() && numbers[to] == numbers[to - 1] + 1) ++to;
        if (to - from < 3) to = from + 1;
        pieces.push_back(to - from == 1 ? std::to_string(numbers[from])
                                        : fmt::format("{} to {}", numbers[from], numbers[to - 1]));
        listed += to - from;
        from = to;
    }
    if (listed < numbers.size()) pieces.push_back(fmt::format("{} more", with_thousands(numbers.size() - listed)));
    std::string out;
    for (std::size_t i = 0; i < pieces.size(); ++i) {
        out += (i == 0 ? "" : i + 1 == pieces.size() ? " and " : ", ") + pieces[i];
    }
    return out;
}

std::string_view to_string(collective_function function) noexcept {
    constexpr std::array<std::string_view, 11> names{"collective", "all_reduce",     "broadcast", "reduce",
                                                     "all_gather", "reduce_scatter", "send/recv", "send/recv",
                                                     "all_to_all", "gather",         "scatter"};
    const auto at = static_cast<std::size_t>(function);
    return at < names.size() ? names[at] : names[0];
}

std::string job_ranks::name_of(std::uint32_t rank) const {
    if (ranks[rank].rank) return fmt::format("rank {}", *ranks[rank].rank);
    return fmt::format("capture {}", file_name_of(ranks[rank].path));
}

std::string job_ranks::communicator_name(std::uint32_t rank, std::uint32_t communicator) const {
    const rank_communicator& of = ranks[rank].communicators[communicator];
    return of.name.empty() ? fmt::format("{:016x}", of.key) : of.name;
}

std::vector<job_ranks> jobs_among(std::vector<rank_summary> summaries) {
    // Launchers and workers of data loaders have the rank's number, too.
    std::erase_if(summaries, [](const rank_summary& each) { return each.ops == 0; });
    joined_summaries joined = joined_windows(std::move(summaries));
    std::vector<rank_summary>& all = joined.of;
    apart_jobs apart(all);
    const std::vector<std::size_t> job_of = apart.run();
    const std::map<std::size_t, std::size_t> rivals = apart.rivals(job_of);
    std::map<std::size_t, std::size_t> numbers;
    std::vector<job_ranks> out;
    for (std::size_t i = 0; i < all.size(); ++i) {
        const auto [number, is_new] = numbers.try_emplace(job_of[i], out.size());
        if (is_new) {
            out.emplace_back();
            const auto known = rivals.find(job_of[i]);
            out.back().rivals = known == rivals.end() ? 0 : known->second;
        }
        out[number->second].ranks.push_back(std::move(all[i]));
    }
    for (capture_copy& copy : joined.copies) out[numbers[job_of[copy.kept]]].copies.push_back(std::move(copy));
    for (job_ranks& job : out) {
        std::stable_sort(job.ranks.begin(), job.ranks.end(), [](const rank_summary& a, const rank_summary& b) {
            return std::tie(a.rank, a.host, a.path) < std::tie(b.rank, b.host, b.path);
        });
        for (capture_copy& copy : job.copies) {
            const auto kept = std::find_if(job.ranks.begin(), job.ranks.end(),
                                           [&](const rank_summary& each) { return each.path == copy.kept_path; });
            copy.kept = static_cast<std::uint32_t>(kept - job.ranks.begin());
        }
        job_maker(job).run();
    }
    std::stable_sort(out.begin(), out.end(),
                     [](const job_ranks& a, const job_ranks& b) { return a.ranks.size() > b.ranks.size(); });
    return out;
}

}  // namespace prof
