// SPDX-License-Identifier: Apache-2.0
#include "analysis/breakdown/graph_captures.hpp"

#include <algorithm>

namespace prof {

graph_captures::graph_captures(const timeline& data) {
    row_values<thread_id, std::uint8_t> is_open(data.threads.size());
    for (const timeline_api_call& call : data.api_calls) {
        if (call.kind == api_class::begins_graph_capture) {
            by_thread_.resize(data.threads.size());
            by_thread_[call.thread].push_back({call.start_ns, std::max(call.start_ns, call.end_ns)});
            is_open[call.thread] = 1;
        } else if (is_open[call.thread] != 0 && call.is_captured) {
            std::int64_t& end_ns = by_thread_[call.thread].back().end_ns;
            end_ns = std::max(end_ns, call.end_ns);
        } else if (call.op_count != 0) {
            is_open[call.thread] = 0;
        }
    }
}

bool graph_captures::contains(thread_id thread, std::int64_t ns) const {
    if (by_thread_.empty() || thread == npos) return false;
    const std::vector<time_span>& spans = by_thread_[thread];
    const auto after = std::upper_bound(spans.begin(), spans.end(), ns,
                                        [](std::int64_t at, const time_span& span) { return at < span.start_ns; });
    return after != spans.begin() && ns < (after - 1)->end_ns;
}

}  // namespace prof
