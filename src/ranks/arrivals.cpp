// SPDX-License-Identifier: Apache-2.0
#include "ranks/arrivals.hpp"

#include <algorithm>
#include <utility>
#include <vector>

namespace prof {

double clock_error_of(const job_ranks& job, const matched_collective& matched) {
    double out = 0;
    std::uint32_t first = UINT32_MAX;
    bool is_on_several = false;
    for (const collective_member& member : job.members_of(matched)) {
        const std::uint32_t host = job.clocks.of_rank[member.rank];
        if (first == UINT32_MAX) first = host;
        is_on_several = is_on_several || host != first;
        out = std::max(out, job.clocks.hosts[host].fit.error_ns());
    }
    return is_on_several ? out : 0;
}

collective_arrivals arrivals_of(const job_ranks& job, const matched_collective& matched, double clock_error_ns) {
    std::vector<std::pair<std::int64_t, std::uint32_t>> arrivals;
    for (const collective_member& member : job.members_of(matched)) {
        arrivals.emplace_back(job.aligned(member.rank, job.at(member).begin_ns), member.rank);
    }
    std::sort(arrivals.begin(), arrivals.end());
    collective_arrivals out{.first_ns = arrivals.front().first, .last_ns = arrivals.back().first};
    if (static_cast<double>(out.last_ns - arrivals[arrivals.size() - 2].first) > clock_error_ns) {
        out.last_rank = arrivals.back().second;
    }
    return out;
}

collective_waits waits_in(const job_ranks& job, const matched_collective& matched) {
    collective_waits out{.clock_error_ns = clock_error_of(job, matched)};
    out.arrivals = arrivals_of(job, matched, out.clock_error_ns);
    for (const collective_member& each : job.members_of(matched)) {
        const rank_collective& is = job.at(each);
        const std::int64_t until_last_ns = out.arrivals.last_ns - job.aligned(each.rank, is.begin_ns);
        out.wait_ns.push_back(job.step_of(each) ? wait_of(is, until_last_ns) : 0);
    }
    return out;
}

std::int64_t wait_of(const rank_collective& collective, std::int64_t until_last_ns) noexcept {
    return std::min(std::max<std::int64_t>(until_last_ns, 0), collective.exposed_ns);
}

}  // namespace prof
