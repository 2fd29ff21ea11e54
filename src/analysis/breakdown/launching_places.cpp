// SPDX-License-Identifier: Apache-2.0
#include "analysis/breakdown/launching_places.hpp"

#include <algorithm>
#include <cstddef>

#include "analysis/breakdown/idle_causes.hpp"
#include "analysis/steps/step_search.hpp"

namespace prof {
namespace {

struct stretches {
    std::uint64_t count = 0;
    std::int64_t total_ns = 0;
};

}  // namespace

launching_places::launching_places(const timeline& data, const attribution& att, const host_activity& host,
                                   code_places& where, const std::vector<whole_step>& given) {
    std::vector<whole_step> windows;
    windows.reserve(data.windows.size());
    for (const timeline_window& window : data.windows) {
        windows.push_back({.start_ns = window.start_ns, .end_ns = window.end_ns});
    }
    const std::vector<whole_step>& steps = given.empty() ? windows : given;
    const row_values<thread_id, thread_id> homes = home_threads(data, att);
    row_values<thread_id, std::int64_t> ended_ns(data.threads.size(), INT64_MIN);  // by home: the latest end of a call
    std::vector<stretches> by_place;
    step_search step_by_time(steps);
    for (const timeline_api_call& call : data.api_calls) {
        const thread_id home = homes[call.thread];
        const std::int64_t from_ns = ended_ns[home];
        ended_ns[home] = std::max(from_ns, std::max(call.start_ns, call.end_ns));
        if (from_ns == INT64_MIN || call.start_ns - from_ns <= launch_bound_ns) continue;
        if (step_by_time.at(call.start_ns) == npos) continue;
        host.for_each_range(call.thread, home, from_ns, call.start_ns,
                            [&](std::int64_t start_ns, std::int64_t end_ns, range_id range) {
                                const code_place_id place = range == npos ? code_place_id() : where.of(range);
                                if (place >= by_place.size()) by_place.resize(place + 1);
                                ++by_place[place].count;
                                by_place[place].total_ns += end_ns - start_ns;
                            });
    }
    is_launching_.resize(by_place.size());
    for (code_place_id place{}; place < by_place.size(); ++place) {
        const stretches& of = by_place[place];
        is_launching_[place] = of.count >= least_scattered * steps.size() && of.count != 0 &&
                               of.total_ns / static_cast<std::int64_t>(of.count) <= scattered_ns &&
                               !where.is_others(place);  // few stretches in each of many places
    }
}

}  // namespace prof
