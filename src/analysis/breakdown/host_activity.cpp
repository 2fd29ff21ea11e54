// SPDX-License-Identifier: Apache-2.0
#include "analysis/breakdown/host_activity.hpp"

#include <algorithm>
#include <functional>
#include <queue>
#include <utility>

#include "base/near_search.hpp"

namespace prof {
namespace {

// The ranges that are open on one thread. Ranges of different domains may end in any order. The cost of a range is the
// logarithm of their number.
class open_ranges {
public:
    // Ends the ranges that end by `ns`, in the order of their ends, outer ones first. Calls changed(time, innermost)
    // where that changes.
    template <typename TChanged>
    void end_until(std::int64_t ns, TChanged&& changed) {
        while (!ends_.empty() && ends_.top().first <= ns) {
            const auto [end_ns, place] = ends_.top();
            ends_.pop();
            open_[place] = npos;
            if (place + 1 != open_.size()) continue;
            while (!open_.empty() && open_.back() == npos) open_.pop_back();
            changed(end_ns, open_.empty() ? npos : open_.back());
        }
    }
    void push(const timeline& data, range_id range) {
        ends_.emplace(data.ranges[range].inside_until_ns(), open_.size());
        open_.push_back(range);
    }

private:
    using range_end = std::pair<std::int64_t, std::size_t>;  // when, and the place in open_
    std::vector<range_id> open_;                             // npos: it has ended before an inner one
    std::priority_queue<range_end, std::vector<range_end>, std::greater<>> ends_;
};

}  // namespace

host_activity::host_activity(const timeline& data, const attribution& att)
    : data_(&data),
      latest_call_(data.threads.size()),
      latest_state_(data.threads.size()),
      calls_(data.threads.size()),
      states_(data.threads.size()) {
    add_calls();
    add_states(att);
}

// A call inside another one belongs to that.
void host_activity::add_calls() {
    for (const call_id i : data_->api_calls.ids()) {
        const timeline_api_call& call = data_->api_calls[i];
        std::vector<call_id>& of_thread = calls_[call.thread];
        if (!of_thread.empty() && call.start_ns < data_->api_calls[of_thread.back()].end_ns) continue;
        of_thread.push_back(i);
    }
}

void host_activity::add_states(const attribution& att) {
    row_values<thread_id, open_ranges> open(data_->threads.size());
    const auto change = [&](thread_id thread) {
        return [&states = states_[thread]](std::int64_t ns, range_id range) {
            if (!states.empty() && states.back().since_ns == ns) {
                states.back().range = range;
            } else {
                states.push_back({ns, range});
            }
        };
    };
    for (const range_id i : data_->ranges.ids()) {
        const timeline_range& range = data_->ranges[i];
        if (range.style != range_style::push_pop || !range.takes_part() || att.hidden.contains(range)) continue;
        open[range.thread].end_until(range.start_ns, change(range.thread));
        open[range.thread].push(*data_, i);
        change(range.thread)(range.start_ns, i);
    }
    for (const thread_id thread : open.ids()) {
        open[thread].end_until(INT64_MAX, change(thread));
    }
}

std::size_t host_activity::first_call_after(thread_id thread, std::int64_t ns) const {
    const std::vector<call_id>& calls = calls_[thread];
    std::size_t& latest = latest_call_[thread];
    latest = partition_point_near(calls.size(), latest,
                                  [&](std::size_t call) { return data_->api_calls[calls[call]].start_ns <= ns; });
    std::size_t index = latest;
    if (index != 0 && end_of(calls, index - 1) > ns) --index;
    return index;
}

std::size_t host_activity::first_state_after(thread_id thread, std::int64_t ns) const {
    const std::vector<state>& states = states_[thread];
    std::size_t& latest = latest_state_[thread];
    latest =
        partition_point_near(states.size(), latest, [&](std::size_t index) { return states[index].since_ns <= ns; });
    return latest;
}

range_id host_activity::range_at(thread_id thread, std::int64_t ns) const {
    const std::size_t next = first_state_after(thread, ns);
    return next == 0 ? npos : states_[thread][next - 1].range;
}

std::int64_t host_activity::first_change(thread_id thread, std::int64_t from_ns, std::int64_t to_ns) const {
    const std::size_t next = first_state_after(thread, from_ns);
    return next == states_[thread].size() ? to_ns : std::min(to_ns, states_[thread][next].since_ns);
}

std::int64_t host_activity::last_change(thread_id thread, std::int64_t from_ns, std::int64_t to_ns) const {
    const std::size_t next = first_state_after(thread, to_ns);
    return next == 0 ? from_ns : std::max(from_ns, states_[thread][next - 1].since_ns);
}

call_id host_activity::call_at(thread_id thread, std::int64_t ns) const {
    const std::vector<call_id>& calls = calls_[thread];
    const std::size_t next = first_call_after(thread, ns);
    return next < calls.size() && data_->api_calls[calls[next]].start_ns <= ns ? calls[next] : npos;
}

}  // namespace prof
