// SPDX-License-Identifier: Apache-2.0
#include "analysis/steps/captured_steps.hpp"

#include <algorithm>
#include <string_view>

namespace prof {

bool begins_step(const timeline& data, const timeline_mark& mark) {
    return mark.payload_kind == payload_type::u64 && data.domains[mark.domain].name == "prof" &&
           data.name(mark.name) == "step";
}

std::vector<captured_step> find_captured_steps(const timeline& data) {
    std::vector<captured_step> steps;
    std::uint32_t window = 0;
    const auto end_last = [&](std::int64_t end_ns, bool is_whole) {
        if (steps.empty() || steps.back().end_ns != 0) return;
        if (is_whole) {
            steps.back().end_ns = end_ns;
        } else {
            steps.pop_back();
        }
    };
    const auto end_window = [&] {
        const timeline_window& of = data.windows[window];
        end_last(of.end_ns, of.ends_with_step && !steps.empty() && steps.back().number == of.last_step);
        ++window;
    };
    for (const timeline_mark& mark : data.marks) {
        if (!begins_step(data, mark)) continue;
        while (window + 1 < data.windows.size() && mark.time_ns >= data.windows[window + 1].start_ns) end_window();
        end_last(mark.time_ns, !steps.empty() && steps.back().number + 1 == mark.payload);
        steps.push_back({.start_ns = mark.time_ns, .number = mark.payload, .window = window});
    }
    if (window < data.windows.size()) end_window();
    return steps;
}

std::uint64_t steps_of_run(const timeline& data) {
    if (const auto counted = data.number("steps")) return static_cast<std::uint64_t>(*counted);
    const std::vector<captured_step> steps = find_captured_steps(data);
    return steps.empty() ? 0 : std::max(steps.back().number + 1, data.windows.back().first_step);
}

bool step_count_is_known(const timeline& data) { return data.number("steps").has_value(); }

bool has_part_of_steps(const timeline& data) {
    const std::uint64_t all = steps_of_run(data);
    if (all == 0) return false;
    const std::size_t captured = find_captured_steps(data).size();
    return captured != 0 && captured + 2 < all;
}

}  // namespace prof
