// SPDX-License-Identifier: Apache-2.0
#include "analysis/selection/step_marks.hpp"

#include <algorithm>
#include <cstdint>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "analysis/projection/segment.hpp"
#include "analysis/selection/step_choice.hpp"
#include "analysis/steps/captured_steps.hpp"
#include "analysis/steps/step_parts.hpp"
#include "base/json_text.hpp"
#include "base/suggestion.hpp"
#include "record/range_name.hpp"
#include "timeline/windows.hpp"

namespace prof {
namespace {

// The ranges of the name, by time. One that lies in another of them on its thread is a part of that one's step: a phase
// and the program's range of the same stretch, or a function that calls itself.
std::vector<const timeline_range*> beginnings(const timeline& data, const range_name& wanted) {
    std::unordered_map<std::uint64_t, bool> known;  // by timeline_range::name_key()
    row_values<thread_id, std::int64_t> inside_until_ns(data.threads.size(), INT64_MIN);
    std::vector<const timeline_range*> out;
    for (const timeline_range& range : data.ranges) {
        if (range.style != range_style::push_pop) continue;
        const auto [found, is_new] = known.try_emplace(range.name_key(), false);
        if (is_new) found->second = is_named(data, range, wanted);
        if (!found->second) continue;
        std::int64_t& until_ns = inside_until_ns[range.thread];
        if (range.start_ns < until_ns) continue;
        until_ns = range.inside_until_ns();
        out.push_back(&range);
    }
    return out;
}

std::string complaint(const timeline& data, const range_name& wanted) {
    std::vector<std::string> names;
    std::unordered_set<name_id> seen;
    for (const timeline_range& range : data.ranges) {
        const bool counts = range.style == range_style::push_pop && range.takes_part();
        if (counts && seen.insert(range.name).second) names.push_back(fold_digits(data.name(range.name)));
    }
    const std::string near = nearest_name(wanted.name, names);
    return "no range " + in_quotes(wanted.text()) + " begins a step" +
           (near.empty() ? std::string() : "; did you mean " + terminal_safe(near) + "?");
}

name_id id_of_name(timeline& data, const std::string& text) {
    auto unused = UINT32_MAX;
    for (const auto& [id, known] : data.name_table) {
        if (known == text) return id;
    }
    while (data.name_table.contains(name_id(unused))) --unused;
    data.name_table.emplace(name_id(unused), text);
    return name_id(unused);
}

std::uint16_t domain_index(timeline& data, const std::string& name) {
    const auto found = std::find_if(data.domains.begin(), data.domains.end(),
                                    [&](const timeline_domain& domain) { return domain.name == name; });
    if (found != data.domains.end()) return static_cast<std::uint16_t>(found - data.domains.begin());
    data.domains.push_back({.name = name});
    return static_cast<std::uint16_t>(data.domains.size() - 1);
}

}  // namespace

void count_steps_by(timeline& data, std::string_view name) {
    const range_name wanted = parse_range_name(name).value_or(range_name(std::string(name)));
    const std::vector<const timeline_range*> begun = beginnings(data, wanted);
    if (begun.empty()) throw nothing_selected(complaint(data, wanted));

    std::erase_if(data.marks, [&](const timeline_mark& mark) { return begins_step(data, mark); });
    for (timeline_window& window : data.windows) {
        window.first_step = window.last_step = begun.size();
        window.drawn_first = window.drawn_among = 0;
        window.ends_with_step = false;
    }
    const name_id step = id_of_name(data, "step");
    const std::uint16_t domain = domain_index(data, "prof");
    for (std::uint64_t number = 0; number < begun.size(); ++number) {
        const timeline_range& range = *begun[number];
        data.marks.push_back({.time_ns = range.start_ns,
                              .payload = number,
                              .name = step,
                              .thread = range.thread,
                              .domain = domain,
                              .payload_kind = payload_type::u64});
        timeline_window& window = data.windows[window_at(data.windows, range.start_ns)];
        window.first_step = std::min(window.first_step, number);
        window.last_step = number;
    }
    std::stable_sort(data.marks.begin(), data.marks.end(),
                     [](const timeline_mark& a, const timeline_mark& b) { return a.time_ns < b.time_ns; });
    data.properties.erase("steps");
    data.properties["step_range"] = wanted.text();
}

}  // namespace prof
