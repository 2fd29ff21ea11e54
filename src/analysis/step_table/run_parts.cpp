// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <vector>

#include "analysis/selection/time_spans.hpp"
#include "analysis/step_table/run_parts.hpp"
#include "analysis/steps/whole_steps.hpp"

namespace prof {
namespace {

time_spans times_of(std::vector<whole_step>::const_iterator first, std::vector<whole_step>::const_iterator last) {
    std::vector<time_span> out;
    for (; first != last; ++first) out.push_back({first->from_ns(), first->to_ns()});
    return time_spans(std::move(out));
}

}  // namespace

run_parts make_run_parts(const timeline& data, const attribution& att, std::string_view step_function,
                         const step_scope& scope) {
    std::vector<time_span> windows;
    windows.reserve(data.windows.size());
    for (const timeline_window& window : data.windows) windows.push_back({window.start_ns, window.end_ns});
    time_spans recorded(windows);
    if (!scope.times.is_empty()) recorded = recorded.within(scope.times);
    const auto ns_of = [&](const time_spans& times) { return times.within(recorded).total_ns(); };
    const auto ns_between = [&](std::int64_t from_ns, std::int64_t to_ns) {
        return ns_of(time_spans(std::vector<time_span>{{from_ns, to_ns}}));
    };

    run_parts out{.recorded_ns = recorded.total_ns()};
    const auto is_recorded = [&](std::int64_t from_ns, std::int64_t to_ns) {
        return from_ns < to_ns && recorded.cut(from_ns, to_ns).has_value();
    };
    for (const time_span& window : windows) out.windows += is_recorded(window.start_ns, window.end_ns) ? 1 : 0;
    const bool has_step_function = !step_function.empty();
    const std::vector<whole_step> counted = steps_that_count(data, att, has_step_function, scope).steps;
    if (counted.empty()) {
        out.startup_ns = out.recorded_ns;
        return out;
    }
    const std::vector<whole_step> all = find_whole_steps(data, att, has_step_function).steps;
    const auto is_before = [&](const whole_step& step) { return step.start_ns < counted.front().start_ns; };
    const auto warm_up_end = std::partition_point(all.begin(), all.end(), is_before);
    const std::int64_t first_ns = warm_up_end == all.begin() ? counted.front().from_ns() : all.front().from_ns();
    const std::int64_t last_ns = std::max(counted.back().to_ns(), all.empty() ? INT64_MIN : all.back().to_ns());
    out.steps = counted.size();
    for (auto step = all.begin(); step != warm_up_end; ++step) {
        out.warm_up += is_recorded(step->from_ns(), step->to_ns()) ? 1 : 0;
    }
    out.startup_ns = ns_between(INT64_MIN, first_ns);
    out.warm_up_ns = ns_of(times_of(all.begin(), warm_up_end));
    out.steps_ns = ns_of(times_of(counted.begin(), counted.end()));
    out.end_ns = ns_between(last_ns, INT64_MAX);
    out.between_ns = out.recorded_ns - out.startup_ns - out.warm_up_ns - out.steps_ns - out.end_ns;
    return out;
}

}  // namespace prof
