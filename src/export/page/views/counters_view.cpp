// SPDX-License-Identifier: Apache-2.0
// The program's counters over time.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include "export/page/page_text.hpp"
#include "export/page/page_views.hpp"

namespace prof {

page_view make_counters_view(const page_input& input) {
    page_view out{.name = "counters", .heading = "Counters", .link = "Counters", .data = page_json::object()};
    constexpr std::size_t most_counters = 60;
    constexpr std::size_t most_points = 200;
    page_table table{.caption = "What the program counted",
                     .columns = {{"counter"}, {"first", true}, {"median", true}, {"last", true}, {"values", true}}};
    page_json& rows = out.data["rows"] = page_json::array();
    for (const timeline_series& counter : input.report.data.series) {
        if (counter.source != series_source::counter || rows.size() == most_counters) continue;
        std::vector<series_sample> samples;
        for (const series_sample& each : counter.samples) {
            if (std::isfinite(each.value)) samples.push_back(each);
        }
        if (samples.empty()) continue;
        std::vector<double> sorted;
        sorted.reserve(samples.size());
        for (const series_sample& each : samples) sorted.push_back(each.value);
        const auto middle = sorted.begin() + static_cast<std::ptrdiff_t>((sorted.size() - 1) / 2);
        std::nth_element(sorted.begin(), middle, sorted.end());
        const double median = *middle;
        page_json times = page_json::array();
        page_json values = page_json::array();
        // Of many values the last one of each piece, and the very last.
        const std::size_t every = (samples.size() + most_points - 1) / most_points;
        for (std::size_t i = every - 1; i < samples.size() + every - 1; i += every) {
            const series_sample& each = samples[std::min(i, samples.size() - 1)];
            times.push_back(each.time_ns - input.report.data.start_ns);
            values.push_back(each.value);
        }
        rows.push_back({{"name", page_name(counter.name)},
                        {"unit", ""},
                        {"first", samples.front().value},
                        {"median", median},
                        {"last", samples.back().value},
                        {"count", samples.size()},
                        {"time_ns", std::move(times)},
                        {"value", std::move(values)}});
        const auto number = [](double value) { return fmt::format("{:.6g}", value); };
        table.rows.push_back({page_name(counter.name), number(samples.front().value), number(median),
                              number(samples.back().value), std::to_string(samples.size())});
    }
    if (rows.empty()) {
        out = {.name = "counters"};  // no program needs to have any
        return out;
    }
    out.blocks.emplace_back(std::move(table));
    return out;
}

}  // namespace prof
