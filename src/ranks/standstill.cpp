// SPDX-License-Identifier: Apache-2.0
#include "ranks/standstill.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>
#include <tuple>
#include <unordered_map>
#include <unordered_set>
#include <utility>

#include "base/display_text.hpp"
#include "base/json_text.hpp"
#include "ranks/join_key.hpp"

namespace prof {
namespace {

// A wait is one in which the job stands still if it is longer than twice the longest time that a collective of the job
// took from its call to its end, and than this: the records of the last second of a process that died may be missing.
constexpr std::int64_t least_stand_ns = 2'000'000'000;
constexpr std::int64_t least_first_stand_ns = 5'000'000'000;  // where no collective has ended
constexpr std::size_t most_ranks_described = 3;
constexpr std::size_t most_calls = 64;    // of a rank and communicator that are looked at: the first without an end
constexpr std::uint64_t least_alike = 3;  // collectives that say that calls are shifted
constexpr double sure_share = 0.8;        // of a list that is matched by order has found its members
constexpr double shifted_share = 0.95;    // of these are alike, if they are shifted
constexpr std::int64_t most_shift = 3;    // calls
constexpr std::size_t most_shifted = 20;  // ranks

struct pending {
    std::uint64_t key = 0;
    std::uint32_t rank = 0;
    std::uint32_t call = 0;
};

class standstill_finder {
public:
    explicit standstill_finder(const job_ranks& job) : job_(job) {}

    std::vector<standstill> run() {
        collect();
        if (pending_.empty()) return {};
        find_limit();
        for (std::size_t from = 0; from < pending_.size();) {
            std::size_t to = from + 1;
            while (to < pending_.size() && pending_[to].key == pending_[from].key) ++to;
            take(std::span(pending_).subspan(from, to - from));
            from = to;
        }
        return chosen();
    }

private:
    const rank_call& at(const pending& of) const { return job_.ranks[of.rank].calls[of.call]; }
    std::uint64_t communicator_of(const pending& of) const {
        return job_.ranks[of.rank].communicators[at(of).communicator].key;
    }

    // Calls that may not have ended: no rank has its end, nor that of a later one of the same communicator.
    void collect() {
        std::unordered_set<std::uint64_t> keys;
        for (std::uint32_t r = 0; r < job_.ranks.size(); ++r) {
            const rank_summary& rank = job_.ranks[r];
            if (rank.calls.empty()) continue;
            std::unordered_map<std::uint64_t, std::int64_t> latest_ns;  // by communicator: the latest call with an end
            for (const rank_collective& each : rank.collectives) {
                const std::uint64_t key = rank.communicators[each.communicator].key;
                const auto known = latest_ns.try_emplace(key, each.enqueued_ns).first;
                known->second = std::max(known->second, each.enqueued_ns);
            }
            std::unordered_map<std::uint64_t, std::size_t> taken;  // by communicator
            for (std::uint32_t c = 0; c < rank.calls.size(); ++c) {
                const rank_call& is = rank.calls[c];
                const std::uint64_t communicator = rank.communicators[is.communicator].key;
                const auto latest = latest_ns.find(communicator);
                if (is.key == 0 || (latest != latest_ns.end() && is.called_ns <= latest->second)) continue;
                if (++taken[communicator] > most_calls) continue;
                pending_.push_back({is.key, r, c});
                keys.insert(is.key);
            }
        }
        if (keys.empty()) return;
        std::unordered_set<std::uint64_t> ended;
        for (const rank_summary& rank : job_.ranks) {
            for (const rank_collective& each : rank.collectives) {
                if (keys.contains(each.key)) ended.insert(each.key);
            }
        }
        std::erase_if(pending_, [&](const pending& each) { return ended.contains(each.key); });
        std::sort(pending_.begin(), pending_.end(), [](const pending& a, const pending& b) {
            return std::tie(a.key, a.rank, a.call) < std::tie(b.key, b.rank, b.call);
        });
    }

    void find_limit() {
        for (const matched_collective& of : job_.matched) {
            if (of.count < 2) continue;
            for (const collective_member& each : job_.members_of(of)) {
                const rank_collective& is = job_.at(each);
                longest_ns_ = std::max(longest_ns_, is.end_ns - is.enqueued_ns);
            }
        }
        limit_ns_ = longest_ns_ == 0 ? least_first_stand_ns : std::max(least_stand_ns, 2 * longest_ns_);
    }

    std::int64_t end_of(std::uint32_t rank) const { return job_.aligned(rank, job_.ranks[rank].ending.at_ns); }

    struct candidate {
        standstill is;
        std::uint64_t key = 0;
        std::uint64_t communicator = 0;
        std::int64_t first_ns = 0;  // the first call, aligned
    };

    void take(std::span<const pending> group) {
        candidate out{.is = {}, .key = group.front().key, .communicator = communicator_of(group.front())};
        out.first_ns = INT64_MAX;
        std::int64_t latest_end_ns = INT64_MIN;
        for (std::size_t i = 0; i < group.size(); ++i) {
            if (i > 0 && group[i].rank == group[i - 1].rank) return;  // which of them it is, is not known
            const rank_ending& ending = job_.ranks[group[i].rank].ending;
            const std::int64_t waits_ns = ending.at_ns - at(group[i]).called_ns;
            out.is.called.push_back({group[i].rank, group[i].call, waits_ns});
            out.is.waited_ns = std::max(out.is.waited_ns, waits_ns);
            out.first_ns = std::min(out.first_ns, job_.aligned(group[i].rank, at(group[i]).called_ns));
            latest_end_ns = std::max(latest_end_ns, end_of(group[i].rank));
        }
        if (out.is.waited_ns < limit_ns_) return;
        out.is.longest_before_ns = longest_ns_;
        const bool has_numbers = are_numbers_sure(at(group.front()));
        const members_of_call& members = members_of(group.front());
        for (const std::uint32_t r : members.ranks) {
            const auto own = std::lower_bound(group.begin(), group.end(), r,
                                              [](const pending& each, std::uint32_t rank) { return each.rank < rank; });
            const bool has_called = own != group.end() && own->rank == r;
            if (has_called) continue;
            const std::vector<rank_window>& windows = job_.ranks[r].windows;
            const bool was_watched =
                history_of(r).communicators.contains(out.communicator) ||
                (!windows.empty() && job_.aligned(r, windows.front().begin_ns) < out.first_ns - limit_ns_);
            const bool was_there = job_.ranks[r].ending.has_ended || end_of(r) >= out.first_ns + limit_ns_;
            if (has_numbers && was_watched && was_there && !has_later(r, group.front())) {
                out.is.not_called.push_back({.rank = r});
            } else {
                out.is.unknown.push_back(r);
            }
        }
        out.is.unknown.insert(out.is.unknown.end(), members.unknown.begin(), members.unknown.end());
        const std::size_t known = members.ranks.size() + members.unknown.size();
        out.is.absent = members.expected > known ? members.expected - known : 0;
        if (out.is.not_called.empty()) out.is.kind = standstill_kind::not_ended;
        for (auto* const list : {&out.is.called, &out.is.not_called}) {
            for (standing_rank& each : *list) {
                const std::int64_t before_ns = latest_end_ns - end_of(each.rank);
                if (job_.ranks[each.rank].ending.has_ended && before_ns >= least_stand_ns)
                    each.ended_before_ns = before_ns;
            }
        }
        candidates_.push_back(std::move(out));
    }

    // By order a call without an end has its number from those before it: that says something only where these have
    // found each other.
    bool are_numbers_sure(const rank_call& is) {
        if (is.by != collective_match::order) return true;
        if (lists_.empty()) {
            for (const rank_summary& rank : job_.ranks) {
                for (const rank_collective& each : rank.collectives) {
                    if (each.by == collective_match::order) ++lists_[each.order_key].all;
                }
            }
            for (const matched_collective& of : job_.matched) {
                if (of.count < 2 || of.lacks_member) continue;
                for (const collective_member& each : job_.members_of(of)) {
                    const rank_collective& known = job_.at(each);
                    if (known.by == collective_match::order) ++lists_[known.order_key].matched;
                }
            }
        }
        const auto list = lists_.find(is.order_key);
        return list == lists_.end() ||
               static_cast<double>(list->second.matched) >= sure_share * static_cast<double>(list->second.all);
    }

    struct members_of_call {
        std::vector<std::uint32_t> ranks;
        std::vector<std::uint32_t> unknown;
        std::size_t expected = 0;
    };

    const members_of_call& members_of(const pending& of) {
        const rank_call& is = at(of);
        const std::uint64_t communicator = communicator_of(of);
        const bool is_by_order = is.by == collective_match::order;
        const auto [known, is_new] =
            members_.try_emplace({communicator, is_by_order ? is.order_key : 0, is.members}, members_of_call{});
        members_of_call& out = known->second;
        if (!is_new) return out;
        const bool is_of_two = is_by_order && is.members == 2;
        std::vector<bool> is_in_list(job_.ranks.size(), false);
        bool has_ended_ones = false;
        for (std::uint32_t r = 0; is_by_order && r < job_.ranks.size(); ++r) {
            const std::vector<rank_collective>& ended = job_.ranks[r].collectives;
            const std::vector<rank_call>& calls = job_.ranks[r].calls;
            const bool has_ended = std::any_of(ended.begin(), ended.end(), [&](const rank_collective& each) {
                return each.by == collective_match::order && each.order_key == is.order_key;
            });
            has_ended_ones = has_ended_ones || has_ended;
            is_in_list[r] = has_ended || std::any_of(calls.begin(), calls.end(), [&](const rank_call& each) {
                                return each.order_key == is.order_key;
                            });
        }
        out.expected = is.members;
        for (std::uint32_t r = 0; r < job_.ranks.size(); ++r) {
            const auto& all = job_.ranks[r].communicators;
            const bool is_member =
                is.members == 0 || std::any_of(all.begin(), all.end(),
                                               [&](const rank_communicator& each) { return each.key == communicator; });
            if (!is_member) continue;
            if (is_by_order && !is_in_list[r] && (has_ended_ones || is_of_two)) {
                if (!is_of_two) out.unknown.push_back(r);
                continue;
            }
            out.ranks.push_back(r);
        }
        if (is.members == 0) {
            constexpr std::int64_t most_missing = 1 << 20;
            out.expected = job_.ranks.size();
            for (const number_range& each : job_.missing) {
                out.expected += static_cast<std::size_t>(std::min(each.last - each.first + 1, most_missing));
            }
        }
        return out;
    }

    // What a rank has called.
    struct called_before {
        std::unordered_set<std::uint64_t> communicators;
        std::map<std::tuple<std::uint64_t, collective_match, collective_function>, std::uint64_t> largest;  // number
    };
    const called_before& history_of(std::uint32_t r) {
        const auto [known, is_new] = histories_.try_emplace(r);
        called_before& out = known->second;
        if (!is_new) return out;
        const rank_summary& rank = job_.ranks[r];
        const auto add = [&](const auto& each, std::uint64_t number) {
            const std::uint64_t key = rank.communicators[each.communicator].key;
            out.communicators.insert(key);
            if (each.by == collective_match::order || number == no_sequence) return;
            std::uint64_t& largest = out.largest[list_of(key, each)];
            largest = std::max(largest, number);
        };
        for (const rank_collective& each : rank.collectives) add(each, each.sequence);
        for (const rank_call& each : rank.calls) add(each, each.number);
        return out;
    }
    // PyTorch counts all functions of a group together.
    template <typename TCall>
    static std::tuple<std::uint64_t, collective_match, collective_function> list_of(std::uint64_t communicator,
                                                                                    const TCall& is) {
        return {communicator, is.by, is.by == collective_match::group ? collective_function::other : is.function};
    }

    // Whether the rank has called one with a higher number: the record of this one was lost.
    bool has_later(std::uint32_t r, const pending& of) {
        const rank_call& is = at(of);
        if (is.by == collective_match::order || is.number == no_sequence) return false;
        const auto& largest = history_of(r).largest;
        const auto found = largest.find(list_of(communicator_of(of), is));
        return found != largest.end() && found->second > is.number;
    }

    std::vector<standstill> chosen() {
        std::stable_sort(candidates_.begin(), candidates_.end(),
                         [](const candidate& a, const candidate& b) { return a.first_ns < b.first_ns; });
        find_other_calls();
        std::set<std::uint32_t> waiting;
        for (const candidate& each : candidates_) {
            for (const standing_rank& rank : each.is.called) waiting.insert(rank.rank);
        }
        // Of a communicator the first that lacks ranks, else the first.
        std::map<std::uint64_t, const candidate*> firsts;
        for (const candidate& each : candidates_) {
            const candidate*& first = firsts.try_emplace(each.communicator, nullptr).first->second;
            const bool lacks_more = first != nullptr && first->is.kind == standstill_kind::not_ended &&
                                    each.is.kind == standstill_kind::not_called;
            if (first == nullptr || lacks_more) first = &each;
        }
        std::vector<const candidate*> roots, in_circle, not_ended;
        for (const auto& [communicator, each] : firsts) {
            const bool has_free = std::any_of(each->is.not_called.begin(), each->is.not_called.end(),
                                              [&](const standing_rank& rank) { return !waiting.contains(rank.rank); });
            if (each->is.kind == standstill_kind::not_ended) {
                not_ended.push_back(each);
            } else {
                (has_free || each->is.kind == standstill_kind::other_call ? roots : in_circle).push_back(each);
            }
        }
        const bool is_circle = roots.empty() && !in_circle.empty();
        if (is_circle) roots = in_circle;
        if (roots.empty()) roots = not_ended;
        std::stable_sort(roots.begin(), roots.end(),
                         [](const candidate* a, const candidate* b) { return a->first_ns < b->first_ns; });
        std::vector<standstill> out;
        for (const candidate* const each : roots) {
            out.push_back(each->is);
            out.back().is_of_circle = is_circle;
            if (each->is.kind == standstill_kind::not_ended) break;  // the later ones wait for it
        }
        return out;
    }

    // Ranks that wait in different collectives of one communicator have called them in different order.
    void find_other_calls() {
        std::map<std::pair<std::uint64_t, std::uint32_t>, std::size_t> first_of;  // communicator and rank → candidate
        for (std::size_t i = 0; i < candidates_.size(); ++i) {
            for (const standing_rank& rank : candidates_[i].is.called) {
                const auto [known, is_new] = first_of.try_emplace({candidates_[i].communicator, rank.rank}, i);
                if (is_new) continue;
                const auto own_ns = [&](std::size_t of) {
                    for (const standing_rank& each : candidates_[of].is.called) {
                        if (each.rank == rank.rank) return job_.ranks[rank.rank].calls[each.call].called_ns;
                    }
                    return INT64_MAX;
                };
                if (own_ns(i) < own_ns(known->second)) known->second = i;
            }
        }
        std::map<std::uint64_t, std::map<std::size_t, std::vector<std::uint32_t>>> by_first;  // by communicator
        for (const auto& [of, first] : first_of) by_first[of.first][first].push_back(of.second);
        for (const auto& [communicator, firsts] : by_first) {
            if (firsts.size() < 2) continue;
            const auto most = std::max_element(firsts.begin(), firsts.end(), [](const auto& a, const auto& b) {
                return a.second.size() < b.second.size();
            });
            standstill& is = candidates_[most->first].is;
            std::vector<standing_rank> called, others;
            for (const auto& [first, ranks] : firsts) {
                for (const standing_rank& each : candidates_[first].is.called) {
                    if (std::find(ranks.begin(), ranks.end(), each.rank) == ranks.end()) continue;
                    (first == most->first ? called : others).push_back(each);
                }
            }
            for (const standing_rank& each : is.not_called) {
                const bool has_first = first_of.contains({communicator, each.rank});
                if (!has_first) others.push_back(each);
            }
            std::sort(others.begin(), others.end(), [](const auto& a, const auto& b) { return a.rank < b.rank; });
            is.kind = standstill_kind::other_call;
            is.called = std::move(called);
            is.not_called = std::move(others);
            // The others are told with it.
            for (candidate& each : candidates_) {
                if (each.communicator == communicator && &each.is != &is) each.key = 0;
            }
        }
        std::erase_if(candidates_, [](const candidate& each) { return each.key == 0; });
    }

    const job_ranks& job_;
    std::vector<pending> pending_;  // by key and rank
    std::vector<candidate> candidates_;
    // By communicator, list of those by order, and members.
    std::map<std::tuple<std::uint64_t, std::uint64_t, std::uint32_t>, members_of_call> members_;
    std::unordered_map<std::uint32_t, called_before> histories_;  // by rank
    struct matched_share {
        std::uint64_t all = 0;
        std::uint64_t matched = 0;
    };
    std::unordered_map<std::uint64_t, matched_share> lists_;  // by order_key
    std::int64_t longest_ns_ = 0;
    std::int64_t limit_ns_ = 0;
};

// Numbers of collectives are counted by each rank itself: a rank that leaves one out has, from then on, the numbers of
// others for what it calls. Their sizes, places and steps show it.
class shift_finder {
public:
    explicit shift_finder(const job_ranks& job) : job_(job) {}

    std::vector<shifted_calls> run() {
        std::map<std::pair<std::uint64_t, int>, std::vector<std::uint32_t>> ranks_of;
        for (std::uint32_t r = 0; r < job_.ranks.size(); ++r) {
            std::set<std::pair<std::uint64_t, int>> known;
            for (const rank_collective& each : job_.ranks[r].collectives) {
                if (each.by != collective_match::order) known.insert(list_of(r, each));
            }
            for (const auto& list : known) ranks_of[list].push_back(r);
        }
        std::vector<shifted_calls> out;
        for (const auto& [list, ranks] : ranks_of) {
            std::vector<shifted_calls> found;
            const std::vector<numbered> first = calls_of(list, ranks.front());
            for (std::size_t i = 1; i < ranks.size(); ++i) {
                if (const shifted_calls is = compare(ranks.front(), first, ranks[i], calls_of(list, ranks[i]));
                    is.fewer != 0) {
                    found.push_back(is);
                }
            }
            // The first rank is the odd one if most others differ from it.
            if (2 * found.size() > ranks.size()) {
                const std::uint32_t other = found.front().rank;
                const shifted_calls is = compare(other, calls_of(list, other), ranks.front(), first);
                found.assign(is.fewer == 0 ? 0 : 1, is);
            }
            out.insert(out.end(), found.begin(), found.end());
            if (out.size() >= most_shifted) break;
        }
        return out;
    }

private:
    struct numbered {
        std::uint64_t number = 0;
        std::uint32_t collective = 0;
        std::uint64_t looks = 0;  // function, bytes and place
        std::int64_t step = INT64_MIN;
    };

    // PyTorch counts all functions of a group together.
    std::pair<std::uint64_t, int> list_of(std::uint32_t r, const rank_collective& is) const {
        return {job_.ranks[r].communicators[is.communicator].key,
                is.by == collective_match::group ? -1 : static_cast<int>(is.function)};
    }

    std::vector<numbered> calls_of(const std::pair<std::uint64_t, int>& list, std::uint32_t r) {
        std::vector<numbered> out;
        const rank_summary& rank = job_.ranks[r];
        for (std::uint32_t c = 0; c < rank.collectives.size(); ++c) {
            const rank_collective& is = rank.collectives[c];
            if (is.by == collective_match::order || is.sequence == no_sequence || list_of(r, is) != list) continue;
            join_key looks;
            looks.add(static_cast<std::uint64_t>(is.function)).add(is.bytes).add(rank.places[is.place]);
            const bool has_step = rank.has_steps && is.step < rank.steps.size();
            out.push_back({is.sequence, c, looks.value(),
                           has_step ? static_cast<std::int64_t>(rank.steps[is.step].number) : INT64_MIN});
        }
        std::sort(out.begin(), out.end(), [](const numbered& a, const numbered& b) { return a.number < b.number; });
        return out;
    }

    static shifted_calls compare(std::uint32_t other, const std::vector<numbered>& usual, std::uint32_t rank,
                                 const std::vector<numbered>& own) {
        std::int64_t steps_apart = INT64_MIN;
        const auto is_alike = [&](const numbered& a, const numbered& b) {
            if (a.looks != b.looks) return false;
            if (a.step == INT64_MIN || b.step == INT64_MIN) return true;
            if (steps_apart == INT64_MIN) steps_apart = b.step - a.step;
            return b.step - a.step == steps_apart;
        };
        std::size_t u = 0, o = 0, before = 0;
        for (; u < usual.size() && o < own.size();) {
            if (usual[u].number != own[o].number) {
                ++(usual[u].number < own[o].number ? u : o);
                continue;
            }
            if (!is_alike(usual[u], own[o])) break;
            ++before;
            ++u;
            ++o;
        }
        if (before == 0 || u == usual.size() || o == own.size()) return {};
        struct share {
            std::uint64_t alike = 0, all = 0;
            double of_all() const { return all == 0 ? 0 : static_cast<double>(alike) / static_cast<double>(all); }
        };
        const auto shifted_by = [&](std::int64_t fewer) {
            share out;
            std::size_t at = 0;
            for (std::size_t i = o; i < own.size(); ++i) {
                const auto wanted = static_cast<std::int64_t>(own[i].number) + fewer;
                while (at < usual.size() && static_cast<std::int64_t>(usual[at].number) < wanted) ++at;
                if (at == usual.size() || static_cast<std::int64_t>(usual[at].number) != wanted) continue;
                ++out.all;
                out.alike += is_alike(usual[at], own[i]) ? 1 : 0;
            }
            return out;
        };
        const share as_they_are = shifted_by(0);
        for (std::int64_t size = 1; size <= most_shift; ++size) {
            for (const std::int64_t fewer : {size, -size}) {
                const share is = shifted_by(fewer);
                // All that differs as it is, but for a tenth, is explained by it.
                const bool explains = 1 - is.of_all() < 0.1 * (1 - as_they_are.of_all());
                if (is.all >= least_alike && is.of_all() >= shifted_share && explains) {
                    return {rank, other, usual[u].collective, fewer};
                }
            }
        }
        return {};
    }

    const job_ranks& job_;
};

std::string names_of_ranks(const job_ranks& job, const std::vector<std::uint32_t>& ranks) {
    if (ranks.size() == 1) return terminal_safe(job.name_of(ranks.front()));
    std::vector<std::int64_t> numbers;
    for (const std::uint32_t r : ranks) {
        if (!job.ranks[r].rank) {
            return fmt::format("{} and {} more", terminal_safe(job.name_of(ranks.front())), ranks.size() - 1);
        }
        numbers.push_back(*job.ranks[r].rank);
    }
    return "ranks " + list_of_numbers(numbers);
}

std::string names_of_ranks(const job_ranks& job, const std::vector<standing_rank>& ranks) {
    std::vector<std::uint32_t> of;
    for (const standing_rank& each : ranks) of.push_back(each.rank);
    return names_of_ranks(job, of);
}

std::string seconds_text(std::int64_t ns) { return fmt::format("{:.1f} s", static_cast<double>(ns) / 1e9); }

template <typename TCall>
std::string text_of(const job_ranks& job, std::uint32_t rank, const TCall& is, std::uint64_t number) {
    std::string out{to_string(is.function)};
    if (number != no_sequence) out += fmt::format(" number {}", number);
    const rank_communicator& communicator = job.ranks[rank].communicators[is.communicator];
    if (!communicator.name.empty()) {
        out += " of " + terminal_safe(communicator.name);
    } else if (job.ranks[rank].communicators.size() > 1) {
        out += fmt::format(" of communicator {:016x}", communicator.key);
    }
    if (is.bytes != 0) out += fmt::format(" ({} bytes)", with_thousands(is.bytes));
    return out;
}

// "it is in data, at train.py:57 (its line 12.2 s before)".
std::string place_of(const job_ranks& job, std::uint32_t r) {
    const rank_ending& is = job.ranks[r].ending;
    std::string out;
    if (!is.place.empty()) {
        out = fmt::format("in {} for {}", terminal_safe(is.place), seconds_text(is.at_ns - is.place_ns));
    }
    if (!is.call.empty()) out += (out.empty() ? "in " : ", in ") + terminal_safe(is.call);
    if (!is.line.empty()) {
        out += fmt::format("{}at {} ({} before the end)", out.empty() ? "" : ", ", terminal_safe(is.line),
                           seconds_text(is.at_ns - is.line_ns));
    }
    return out;
}

// Where a rank is that others wait for.
std::string state_of(const job_ranks& job, const standstill& of, const standing_rank& each) {
    const rank_summary& rank = job.ranks[each.rank];
    std::vector<std::string> pieces;
    std::int64_t before_ns = INT64_MAX;
    if (of.kind == standstill_kind::other_call && each.call != UINT32_MAX) {
        const rank_call& is = rank.calls[each.call];
        before_ns = is.called_ns;
        pieces.push_back("has called " + text_of_call(job, each.rank, is));
        if (const std::string& place = rank.places[is.place]; !place.empty()) {
            pieces.back() += " in " + terminal_safe(place);
        }
    }
    if (each.ended_before_ns != 0) {
        pieces.push_back(
            fmt::format("ended {} before the others ({})", seconds_text(each.ended_before_ns), rank.ending.how));
    }
    if (const std::string place = place_of(job, each.rank); !place.empty()) {
        pieces.push_back((each.ended_before_ns != 0 ? "was " : "is ") + place);
    }
    const std::string last = last_collective_of(job, each.rank, before_ns);
    pieces.push_back(last.empty() ? "has no collective before" : "its last one before was " + last);
    std::string out = terminal_safe(job.name_of(each.rank)) + ' ';
    for (std::size_t i = 0; i < pieces.size(); ++i) out += (i == 0 ? "" : "; ") + pieces[i];
    return out;
}

std::string sentence_of(const job_ranks& job, const standstill& of) {
    const rank_call& is = of.call_in(job);
    const std::string what = text_of_call(job, of.called.front().rank, is);
    const bool is_one = of.called.size() == 1;
    std::string out = fmt::format("{} {} for {} in {}", names_of_ranks(job, of.called), is_one ? "waits" : "wait",
                                  seconds_text(of.waited_ns), what);
    if (const std::string& place = job.ranks[of.called.front().rank].places[is.place]; !place.empty()) {
        out += ", called in " + terminal_safe(place);
    }
    switch (of.kind) {
        case standstill_kind::not_called:
            out += fmt::format(", which {} {} not called", names_of_ranks(job, of.not_called),
                               of.not_called.size() == 1 ? "has" : "have");
            break;
        case standstill_kind::other_call:
            out += fmt::format(", where {} {} called another collective", names_of_ranks(job, of.not_called),
                               of.not_called.size() == 1 ? "has" : "have");
            break;
        case standstill_kind::not_ended:
            out += of.absent == 0 && of.unknown.empty() ? ": all of its ranks have called it, and it has not ended"
                                                        : ", and it has not ended";
            break;
    }
    if (of.is_of_circle) out += " while in another one";
    if (!of.unknown.empty()) {
        out += fmt::format("; whether {} called it is not known", names_of_ranks(job, of.unknown));
    }
    if (of.absent != 0) {
        out += fmt::format("; of {} of its ranks there is no capture", with_thousands(of.absent));
    }
    return out;
}

}  // namespace

std::string_view to_string(standstill_kind kind) noexcept {
    switch (kind) {
        case standstill_kind::not_called:
            return "not called";
        case standstill_kind::other_call:
            return "another call";
        case standstill_kind::not_ended:
            break;
    }
    return "not ended";
}

job_standstill find_standstill(const job_ranks& job) {
    if (job.ranks.size() < 2) return {};
    return {standstill_finder(job).run(), shift_finder(job).run()};
}

std::string text_of_call(const job_ranks& job, std::uint32_t rank, const rank_call& is) {
    return text_of(job, rank, is, is.number);
}

std::string text_of_collective(const job_ranks& job, std::uint32_t rank, const rank_collective& is) {
    // By order it has no number of its own.
    return text_of(job, rank, is, is.by == collective_match::order ? no_sequence : is.sequence);
}

std::string last_collective_of(const job_ranks& job, std::uint32_t rank, std::int64_t before_ns) {
    const rank_summary& of = job.ranks[rank];
    const rank_collective* latest = nullptr;
    for (const rank_collective& each : of.collectives) {
        if (each.enqueued_ns < before_ns && (latest == nullptr || each.enqueued_ns >= latest->enqueued_ns))
            latest = &each;
    }
    const rank_call* call = nullptr;
    for (const rank_call& each : of.calls) {
        if (each.called_ns < before_ns) call = &each;
    }
    if (call != nullptr && (latest == nullptr || call->called_ns > latest->enqueued_ns))
        return text_of_call(job, rank, *call);
    return latest == nullptr ? std::string() : text_of_collective(job, rank, *latest);
}

std::vector<std::string> sentences_of(const job_ranks& job, const job_standstill& of) {
    std::vector<std::string> out;
    for (const standstill& each : of.stands) {
        out.push_back(sentence_of(job, each));
        for (std::size_t i = 0; i < each.not_called.size() && i < most_ranks_described; ++i) {
            out.push_back(state_of(job, each, each.not_called[i]));
        }
        if (each.not_called.size() > most_ranks_described) {
            out.push_back(fmt::format("{} more: the report standstill has all of them",
                                      each.not_called.size() - most_ranks_described));
        }
        for (const standing_rank& rank : each.called) {
            if (rank.ended_before_ns == 0) continue;
            out.push_back(fmt::format("{}, which has called it, ended {} before the others: {}",
                                      terminal_safe(job.name_of(rank.rank)), seconds_text(rank.ended_before_ns),
                                      job.ranks[rank.rank].ending.how));
        }
    }
    for (const shifted_calls& each : of.shifted) {
        const rank_collective& is = job.ranks[each.other].collectives[each.collective];
        const rank_summary& other = job.ranks[each.other];
        std::string where;
        if (const std::string& place = other.places[is.place]; !place.empty()) where += " in " + terminal_safe(place);
        if (other.has_steps && is.step < other.steps.size())
            where += fmt::format(" of step {}", other.steps[is.step].number);
        const std::int64_t count = std::abs(each.fewer);
        out.push_back(fmt::format(
            "{} has {} {} {} than {} up to {}, which {} calls{}: from there on the same numbers are other operations",
            terminal_safe(job.name_of(each.rank)), count, count == 1 ? "collective" : "collectives",
            each.fewer > 0 ? "less" : "more", terminal_safe(job.name_of(each.other)),
            text_of_collective(job, each.other, is), terminal_safe(job.name_of(each.other)), where));
    }
    return out;
}

}  // namespace prof
