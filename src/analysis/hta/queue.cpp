// SPDX-License-Identifier: Apache-2.0
#include "analysis/hta/queue.hpp"

#include <algorithm>
#include <map>
#include <utility>

#include "analysis/steps/numbered_steps.hpp"
#include "timeline/launched_ops.hpp"

namespace prof {
namespace {

class queue_walk {
public:
    explicit queue_walk(bool by_device) : by_device_(by_device) {}

    void change(const gpu_place& place, std::int64_t now_ns, std::int64_t by) {
        state& at = streams_[{by_device_ ? place.device : 0, place.stream}];
        if (at.begun) pass(at, now_ns - at.since_ns);
        at.begun = true;
        at.since_ns = now_ns;
        at.length += by;
        at.found.lengths.add(at.length);
    }

    std::vector<stream_queue> take() {
        std::vector<stream_queue> out;
        for (auto& [key, at] : streams_) {
            if (by_device_) at.found.device = key.first;
            at.found.stream = key.second;
            out.push_back(std::move(at.found));
        }
        return out;
    }

private:
    struct state {
        stream_queue found;
        std::int64_t length = 0;
        std::int64_t since_ns = 0;
        bool begun = false;
    };

    static void pass(state& at, std::int64_t ns) {
        at.found.span_ns += ns;
        if (at.length <= 0) at.found.empty_ns += ns;
        if (at.length >= full_queue) at.found.full_ns += ns;
        at.found.length_ns += static_cast<double>(at.length) * static_cast<double>(ns);
    }

    bool by_device_;
    std::map<std::pair<std::uint32_t, std::uint32_t>, state> streams_;
};

}  // namespace

std::vector<stream_queue> measure_queues(const hta_input& input, hta_scope scope) {
    const timeline& data = input.data;
    const bool is_own = scope == hta_scope::all;
    const scope_rows rows(input, scope);
    traced_launches kind_of(input);
    const auto counts = [&](const timeline_api_call& call) {
        return rows.has(call) && (is_own || kind_of(call) != traced_launch::none);
    };
    queue_walk walk(is_own);
    // Calls and operations are both in order of their starts.
    auto call = data.api_calls.begin();
    const auto enter_until = [&](std::int64_t ns) {
        for (; call != data.api_calls.end() && call->start_ns <= ns; ++call) {
            if (call->op_count == 0 || !counts(*call)) continue;
            for (const op_id op : ops_of(data, *call)) {
                walk.change(data.place_of(data.ops[op]), call->start_ns, 1);
            }
        }
    };
    for (const gpu_op& op : data.ops) {
        enter_until(op.start_ns);
        if (op.launch != npos && counts(data.api_calls[op.launch])) walk.change(data.place_of(op), op.start_ns, -1);
    }
    enter_until(INT64_MAX);
    return walk.take();
}

std::int64_t hta_trace_duration(const hta_input& input, hta_scope scope) {
    const timeline& data = input.data;
    const scope_rows rows(input, scope);
    std::int64_t first_ns = INT64_MAX;
    std::int64_t last_ns = INT64_MIN;
    const auto include = [&](std::int64_t ns) {
        first_ns = std::min(first_ns, ns);
        last_ns = std::max(last_ns, ns);
    };
    for (const timeline_range& range : data.ranges) {
        if (range.style == range_style::push_pop && rows.has_moment(range.start_ns)) include(range.start_ns);
    }
    for (const numbered_step& step : number_steps(data, input.hidden).steps) {
        if (rows.has_moment(step.start_ns)) include(step.start_ns);
    }
    for (const timeline_api_call& call : data.api_calls) {
        if (rows.has(call)) include(call.start_ns);
    }
    for (const gpu_op& op : data.ops) {
        if (rows.has(op)) include(op.start_ns);
    }
    return std::max<std::int64_t>(last_ns - first_ns, 0);
}

}  // namespace prof
