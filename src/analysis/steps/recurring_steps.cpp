// SPDX-License-Identifier: Apache-2.0
#include "analysis/steps/recurring_steps.hpp"

#include <algorithm>
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

constexpr std::uint64_t least_instances = 3;
constexpr std::uint32_t deepest_step = 3;  // depth that is looked at

// The ranges of one name, depth and thread.
struct range_group {
    std::uint64_t count = 0;
    std::int64_t total_ns = 0;
    std::int64_t first_ns = INT64_MAX;
    std::int64_t last_ns = INT64_MIN;
};

// Groups that occur equally often.
struct parts {
    range_group times;
    const std::string* first = nullptr;  // the name of the one that begins first
    std::size_t groups = 0;

    void add(const std::string& name, const range_group& of) {
        if (of.first_ns < times.first_ns) first = &name;
        ++groups;
        times.total_ns += of.total_ns;
        times.first_ns = std::min(times.first_ns, of.first_ns);
        times.last_ns = std::max(times.last_ns, of.last_ns);
    }
    void add(const parts& of) {
        add(*of.first, of.times);
        groups += of.groups - 1;
    }
};

// All groups of one depth and thread, by folded name.
using named_groups = std::map<std::string, range_group>;

class recurring_finder {
public:
    recurring_finder(const timeline& data, const attribution& att) : data_(data), att_(att) {}

    whole_steps run() {
        const std::vector<std::uint64_t> launched = launched_by_threads();
        std::map<std::pair<std::uint32_t, std::uint32_t>, named_groups> all;  // by depth and thread
        for (const timeline_range& range : data_.ranges) {
            if (!is_candidate(range)) continue;
            range_group& group = all[{range.depth, range.thread}][folded(range)];
            ++group.count;
            group.total_ns += range.end_ns - range.start_ns;
            group.first_ns = std::min(group.first_ns, range.start_ns);
            group.last_ns = std::max(group.last_ns, range.end_ns);
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
            if (out.thread != npos && launches == most_launched && found.times.total_ns <= longest_ns) continue;
            longest_ns = found.times.total_ns;
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
        std::vector<std::uint64_t> out(data_.threads.size(), 0);
        for (std::size_t op = 0; op < data_.ops.size(); ++op) {
            const std::uint32_t launch = data_.ops[op].launch;
            if (launch == npos) continue;
            const std::uint32_t home = adopting_thread(data_, att_, op);
            ++out[home == npos ? data_.api_calls[launch].thread : home];
        }
        return out;
    }

    bool is_candidate(const timeline_range& range) const {
        return range.style == range_style::push_pop && range.depth <= deepest_step && range.takes_part() &&
               !is_phase(data_, range) && !att_.hidden.contains(range);
    }

    const std::string& folded(const timeline_range& range) {
        const std::uint64_t key = std::uint64_t{range.domain} << 32 | range.name;
        auto found = names_.find(key);
        if (found == names_.end()) found = names_.emplace(key, segment_text(data_, range, true)).first;
        return found->second;
    }

    // The parts of a step; none if these are no steps.
    static parts parts_of(const named_groups& of) {
        std::map<std::uint64_t, parts> by_count;
        for (const auto& [name, group] : of) {
            if (group.count >= least_instances - 1) by_count[group.count].add(name, group);
        }
        parts best;
        for (const auto& [count, alike] : by_count) {
            if (count < least_instances) continue;
            // At the recording's ends a part may have one instance more or less than the others.
            parts all = alike;
            for (const std::uint64_t near : {count - 1, count + 1}) {
                if (const auto found = by_count.find(near); found != by_count.end()) all.add(found->second);
            }
            const bool covers = all.times.total_ns >= (all.times.last_ns - all.times.first_ns) / 2;
            if (covers && all.times.total_ns > best.times.total_ns) best = all;
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
