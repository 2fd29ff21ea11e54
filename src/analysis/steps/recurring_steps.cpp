// SPDX-License-Identifier: Apache-2.0
#include "analysis/steps/recurring_steps.hpp"

#include <algorithm>
#include <array>
#include <map>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "analysis/projection/segment.hpp"
#include "analysis/steps/step_gaps.hpp"
#include "timeline/windows.hpp"

namespace prof {
namespace {

constexpr std::size_t least_instances = 3;
constexpr std::uint32_t deepest_step = 3;  // depth that is looked at

// The ranges of one name, depth and thread, which come in the order in which they begin.
struct range_group {
    std::uint64_t count = 0;
    std::int64_t total_ns = 0;
    std::int64_t end_ns = INT64_MIN;
    std::array<std::int64_t, least_instances> first_ns{};   // when the first ones begin
    std::array<std::int64_t, least_instances> latest_ns{};  // and the last ones, the last one first

    void add(const timeline_range& range) {
        if (count < first_ns.size()) first_ns[count] = range.start_ns;
        std::copy_backward(latest_ns.begin(), latest_ns.end() - 1, latest_ns.end());
        latest_ns.front() = range.start_ns;
        ++count;
        total_ns += range.end_ns - range.start_ns;
        end_ns = std::max(end_ns, range.end_ns);
    }
    // Whether a part of each step may be in this group and one in the other: neither is over before the other begins.
    bool alternates_with(const range_group& other) const { return begins_among(other) && other.begins_among(*this); }

private:
    // The other one may have an instance less: then its third is its last.
    bool begins_among(const range_group& other) const {
        const std::size_t third = std::min<std::size_t>(other.count, least_instances) - 1;
        return first_ns[0] < other.first_ns[third] && latest_ns[0] > other.latest_ns[third];
    }
};

// Groups that occur equally often.
struct parts {
    const std::string* first = nullptr;  // the name of the one that begins first
    std::size_t groups = 0;
    std::int64_t total_ns = 0;
    std::int64_t first_ns = INT64_MAX;
    std::int64_t end_ns = INT64_MIN;

    void add(const std::string& name, const range_group& of) {
        if (of.first_ns[0] < first_ns) first = &name;
        ++groups;
        total_ns += of.total_ns;
        first_ns = std::min(first_ns, of.first_ns[0]);
        end_ns = std::max(end_ns, of.end_ns);
    }
};

// All groups of one depth and thread, by folded name.
using named_groups = std::map<std::string, range_group>;

class recurring_finder {
public:
    recurring_finder(const timeline& data, const attribution& att) : data_(data), att_(att) {}

    whole_steps run() {
        const std::vector<std::uint64_t> launched = launched_by_threads();
        std::map<std::pair<std::uint32_t, thread_id>, named_groups> all;  // by depth and thread
        for (const timeline_range& range : data_.ranges) {
            if (!is_candidate(range)) continue;
            all[{range.depth, range.thread}][folded(range)].add(range);
        }
        whole_steps out{.source = step_source::recurring};
        std::int64_t longest_ns = 0;
        std::uint64_t most_launched = 0;
        std::uint32_t depth = 0;
        for (const auto& [key, of] : all) {
            const std::uint64_t launches = launched[key.second];
            const bool is_deeper = out.thread != npos && key.first != depth;
            if (out.thread != npos && (launches < most_launched || (launches == most_launched && is_deeper))) continue;
            const parts found = parts_of(of);
            if (found.first == nullptr) continue;
            if (out.thread != npos && launches == most_launched && found.total_ns <= longest_ns) continue;
            longest_ns = found.total_ns;
            most_launched = launches;
            depth = key.first;
            out.thread = key.second;
            out.range = *found.first;
            out.range_is_step = found.groups == 1;
        }
        if (out.thread != npos) collect(out, depth);
        return out;
    }

private:
    // A thread that works for another one counts as that one.
    std::vector<std::uint64_t> launched_by_threads() const {
        row_values<thread_id, std::uint64_t> out(data_.threads.size(), 0);
        for (const op_id op : data_.ops.ids()) {
            const call_id launch = data_.ops[op].launch;
            if (launch == npos) continue;
            const thread_id home = adopting_thread(data_, att_, op);
            ++out[home == npos ? data_.api_calls[launch].thread : home];
        }
        return out;
    }

    bool is_candidate(const timeline_range& range) const {
        return range.style == range_style::push_pop && range.depth <= deepest_step && range.takes_part() &&
               !is_phase(data_, range) && !att_.hidden.contains(range);
    }

    const std::string& folded(const timeline_range& range) {
        const std::uint64_t key = range.name_key();
        auto found = names_.find(key);
        if (found == names_.end()) found = names_.emplace(key, segment_text(data_, range, true)).first;
        return found->second;
    }

    // The parts of a step; none if these are no steps.
    static parts parts_of(const named_groups& of) {
        using named_group = named_groups::value_type;
        std::map<std::uint64_t, std::vector<const named_group*>> by_count;
        for (const named_group& group : of) {
            if (group.second.count >= least_instances - 1) by_count[group.second.count].push_back(&group);
        }
        parts best;
        for (const auto& [count, alike] : by_count) {
            if (count < least_instances) continue;
            const range_group& longest =
                (*std::max_element(alike.begin(), alike.end(), [](const auto* a, const auto* b) {
                    return a->second.total_ns < b->second.total_ns;
                }))->second;
            // At the recording's ends a part may have one instance more or less than the others.
            parts all;
            for (const std::uint64_t near : {count - 1, count, count + 1}) {
                const auto found = by_count.find(near);
                if (found == by_count.end()) continue;
                for (const named_group* group : found->second) {
                    if (longest.alternates_with(group->second)) all.add(group->first, group->second);
                }
            }
            const bool covers = all.total_ns >= (all.end_ns - all.first_ns) / 2;
            if (covers && all.total_ns > best.total_ns) best = all;
        }
        return best;
    }

    void collect(whole_steps& out, std::uint32_t depth) {
        const timeline_range* latest = nullptr;
        std::uint64_t number = 0;
        std::vector<std::int64_t> next_ns;
        for (const timeline_range& range : data_.ranges) {
            if (!is_candidate(range) || range.depth != depth || range.thread != out.thread) continue;
            if (folded(range) != out.range) continue;
            const bool is_whole = latest != nullptr && !latest->open_at_start && !latest->open_at_end;
            if (is_whole && window_at(data_.windows, latest->start_ns) == window_at(data_.windows, range.start_ns)) {
                const bool is_first = number == 1 && data_.property("plan").empty();
                const std::int64_t end_ns = out.range_is_step ? latest->end_ns : range.start_ns;
                out.steps.push_back({latest->start_ns, end_ns, is_first, number - 1});
                next_ns.push_back(range.start_ns);
            }
            latest = &range;
            ++number;
        }
        if (out.range_is_step) extend_to_next(out.steps, next_ns);
    }

    const timeline& data_;
    const attribution& att_;
    std::unordered_map<std::uint64_t, std::string> names_;
};

}  // namespace

whole_steps find_recurring_steps(const timeline& data, const attribution& att) {
    return recurring_finder(data, att).run();
}

}  // namespace prof
