// SPDX-License-Identifier: Apache-2.0
#include "analysis/selection/step_choice.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <string_view>
#include <utility>

#include "analysis/steps/capture_start.hpp"
#include "analysis/steps/recurring_steps.hpp"
#include "base/number.hpp"

namespace prof {
namespace {

constexpr std::string_view own_step = "ProfilerStep#";

std::vector<numbered_step> own_steps(const timeline& data, const hidden_domains& hidden) {
    std::vector<numbered_step> out;
    for (const timeline_range& range : data.ranges) {
        if (range.style != range_style::push_pop || hidden.contains(range)) continue;
        const std::string_view name = data.name(range.name);
        if (!name.starts_with(own_step) || (!out.empty() && range.thread != out.back().thread)) continue;
        const auto number = parse_number<std::uint64_t>(name.substr(own_step.size()));
        if (!number || (!out.empty() && range.start_ns < out.back().end_ns)) continue;
        out.push_back({.start_ns = range.start_ns, .end_ns = range.end_ns, .number = *number, .thread = range.thread});
    }
    return out;
}

std::vector<numbered_step> recurring_steps(const timeline& data, const attribution& att) {
    std::vector<numbered_step> out;
    const whole_steps found = find_recurring_steps(data, att);
    out.reserve(found.steps.size());
    for (const whole_step& step : found.steps) {
        out.push_back(
            {.start_ns = step.start_ns, .end_ns = step.end_ns, .number = step.number, .thread = found.thread});
    }
    return out;
}

template <typename TStep>
std::string numbers_of(const std::vector<TStep>& steps, std::string_view kind = "step") {
    const auto [first, last] = std::minmax_element(steps.begin(), steps.end(),
                                                   [](const auto& a, const auto& b) { return a.number < b.number; });
    if (first->number == last->number) return fmt::format("{} {}", kind, first->number);
    return fmt::format("{} {}s from {} to {}", steps.size(), kind, first->number, last->number);
}

time_spans spans_of(const std::vector<numbered_step>& steps) {
    std::vector<time_span> out;
    out.reserve(steps.size());
    for (const numbered_step& step : steps) out.push_back({step.start_ns, step.end_ns});
    return time_spans(std::move(out));
}

std::int64_t time_of(const moment& at, std::int64_t first_ns) noexcept {
    return at.is_absolute || at.ns > INT64_MAX - first_ns ? at.ns : first_ns + at.ns;
}

// The moments that the request names, within the capture.
time_spans spans_between(const timeline& data, const selection_request& request) {
    const std::int64_t first_ns = earliest_moment(data);
    std::int64_t last_ns = data.end_ns;
    for (const gpu_op& op : data.ops) last_ns = std::max(last_ns, op.end_ns);
    // Work may begin at the very end.
    time_span span{first_ns, last_ns + 1};
    if (const auto from = parse_moment(request.from)) span.start_ns = std::max(span.start_ns, time_of(*from, first_ns));
    if (const auto to = parse_moment(request.to)) span.end_ns = std::min(span.end_ns, time_of(*to, first_ns));
    if (span.end_ns <= span.start_ns) {
        const std::string what =
            (request.from.empty() ? "" : " from " + request.from) + (request.to.empty() ? "" : " to " + request.to);
        throw nothing_selected(fmt::format("the capture has nothing{}: it is {:.6f} s long", what,
                                           static_cast<double>(last_ns - first_ns) * 1e-9));
    }
    return time_spans({span});
}

}  // namespace

std::vector<numbered_step> all_numbered_steps(const timeline& data, const attribution& att) {
    if (!data.property("step_range").empty()) return counted_steps(data, att.hidden);
    numbered_steps found = number_steps(data, att.hidden);
    if (!found.steps.empty()) return std::move(found.steps);
    std::vector<numbered_step> own = own_steps(data, att.hidden);
    return own.empty() ? recurring_steps(data, att) : own;
}

chosen_times choose_times(const timeline& data, const attribution& att, const selection_request& request) {
    chosen_times out{.times = spans_between(data, request)};
    if (request.steps.empty() && request.skip_first == 0) return out;
    out.steps = all_numbered_steps(data, att);
    out.all_steps = out.steps.size();
    if (out.steps.empty()) {
        throw nothing_selected("the capture has no steps; --step-range NAME says which range is one");
    }
    if (request.skip_first != 0) {
        if (request.skip_first >= out.all_steps) {
            throw nothing_selected(fmt::format("no step is left after the first {}: the capture has {}",
                                               request.skip_first, numbers_of(out.steps)));
        }
        out.steps.erase(out.steps.begin(), out.steps.begin() + static_cast<std::ptrdiff_t>(request.skip_first));
        out.times = out.times.within(time_spans({{out.steps.front().start_ns, INT64_MAX}}));
    }
    if (!request.steps.empty()) {
        const step_slice wanted = parse_step_slice(request.steps).value_or(step_slice{});
        const std::vector<numbered_step> left = out.steps;
        std::erase_if(out.steps, [&](const numbered_step& step) {
            return step.number < wanted.first || step.number >= wanted.end;
        });
        if (out.steps.empty()) {
            throw nothing_selected(
                fmt::format("no step is in {}: the capture has {}", request.steps, numbers_of(left)));
        }
        out.times = out.times.within(spans_of(out.steps));
    }
    std::erase_if(out.steps, [&](const numbered_step& step) {
        const auto inside = out.times.cut(step.start_ns, step.end_ns);
        return !inside || inside->start_ns != step.start_ns || inside->end_ns != step.end_ns;
    });
    if (out.times.is_empty()) throw nothing_selected("no chosen step is within the chosen times");
    return out;
}

namespace {

void keep_chosen(std::vector<whole_step>& steps, const time_spans& times, std::int64_t end_ns) {
    std::erase_if(steps,
                  [&](const whole_step& step) { return !times.contains(step.start_ns) || step.end_ns > end_ns; });
}

whole_steps chosen_among(const whole_steps& all, const timeline& data, const selection_request& request,
                         const time_spans& times) {
    const std::optional<moment> to = parse_moment(request.to);
    const std::int64_t end_ns = to ? time_of(*to, earliest_moment(data)) : INT64_MAX;
    whole_steps chosen = all;
    keep_chosen(chosen.steps, times, end_ns);
    if (!request.steps.empty()) return chosen;
    whole_steps usual = all;
    leave_out_warm_up(usual);
    keep_chosen(usual.steps, times, end_ns);
    if (usual.steps.empty()) return chosen;
    usual.warm_up = chosen.steps.size() - usual.steps.size();
    return usual;
}

}  // namespace

whole_steps whole_steps_among(const timeline& data, const attribution& att, const selection_request& request,
                              const time_spans& times, bool has_step_function) {
    return chosen_among(find_whole_steps(data, att, has_step_function), data, request, times);
}

whole_steps choose_whole_steps(const timeline& data, const attribution& att, const selection_request& request,
                               bool has_step_function) {
    const whole_steps all = find_whole_steps(data, att, has_step_function);
    if (all.steps.empty()) {
        const bool is_named = !data.property("step_range").empty();
        throw nothing_selected(std::string("the capture has no whole step") +
                               (is_named ? "" : "; --step-range NAME says which range is one"));
    }
    whole_steps out = chosen_among(all, data, request, choose_times(data, att, request).times);
    if (out.steps.empty()) {
        throw nothing_selected("no whole step is chosen: the capture has " + numbers_of(all.steps, "whole step"));
    }
    return out;
}

}  // namespace prof
