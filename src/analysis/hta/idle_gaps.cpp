// SPDX-License-Identifier: Apache-2.0
#include "analysis/hta/idle_gaps.hpp"

#include <algorithm>
#include <map>
#include <utility>

#include "analysis/hta/state_times.hpp"

namespace prof {
namespace {

struct stream_walk {
    stream_idle found;
    std::int64_t end_ns = 0;
    bool begun = false;
};

idle_category category_of(const timeline& data, const gpu_op& op, std::int64_t idle_since_ns, std::int64_t gap_ns,
                          std::int64_t short_ns) {
    if (op.launch != npos && data.api_calls[op.launch].start_ns > idle_since_ns) return idle_category::host_wait;
    return gap_ns < short_ns ? idle_category::kernel_wait : idle_category::other;
}

}  // namespace

std::string_view to_string(idle_category value) noexcept {
    switch (value) {
        case idle_category::host_wait:
            return "host_wait";
        case idle_category::kernel_wait:
            return "kernel_wait";
        case idle_category::other:
            break;
    }
    return "other";
}

std::int64_t stream_idle::total_ns() const noexcept {
    std::int64_t sum_ns = 0;
    for (const idle_sum& category : by_category) sum_ns += category.idle_ns;
    return sum_ns;
}

std::vector<stream_idle> measure_idle(const hta_input& input, hta_scope scope) {
    const timeline& data = input.data;
    const scope_rows rows(input, scope);
    const bool is_own = scope == hta_scope::all;
    const std::int64_t short_ns = is_own ? kernel_wait_ns : hta_kernel_wait_ns;
    std::map<std::pair<std::uint32_t, std::uint32_t>, stream_walk> streams;
    for (const gpu_op& op : data.ops) {
        if (!rows.has(op)) continue;
        const gpu_place& place = data.place_of(op);
        stream_walk& at = streams[{is_own ? place.device : 0, place.stream}];
        if (at.begun) {
            std::int64_t gap_ns = op.start_ns - at.end_ns;
            if (is_own) gap_ns = gap_ns <= 0 ? 0 : gap_ns - unrecorded_ns(data.windows, at.end_ns, op.start_ns);
            if (!is_own || gap_ns > 0) {
                const idle_category category = category_of(data, op, at.end_ns, gap_ns, short_ns);
                idle_sum& sum = at.found.by_category[static_cast<std::size_t>(category)];
                sum.idle_ns += gap_ns;
                ++sum.gaps;
            }
        }
        at.end_ns = is_own && at.begun ? std::max(at.end_ns, op.end_ns) : op.end_ns;
        at.begun = true;
    }
    std::vector<stream_idle> out;
    for (auto& [key, walk] : streams) {
        if (is_own) walk.found.device = key.first;
        walk.found.stream = key.second;
        out.push_back(walk.found);
    }
    return out;
}

}  // namespace prof
