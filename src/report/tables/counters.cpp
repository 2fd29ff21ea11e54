// SPDX-License-Identifier: Apache-2.0
// The values of the program's counters (PROF_COUNTER, prof_counter), by name.
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <numeric>
#include <string>
#include <utility>
#include <vector>

#include "report/makers.hpp"
#include "report/tables/nsight_columns.hpp"

namespace prof {

table counters_report(const report_input& input) {
    struct counted {
        std::string name;
        std::vector<double> values;
    };
    const auto number = [](const char* name, auto cell) {
        return report_column<counted>{{name, name, quantity::number},
                                      [cell](const counted& counter) { return cell(counter.values); }};
    };
    const report_columns<counted> columns = {
        {text_column("Counter"), &counted::name},
        {count_column("Values"), [](const counted& counter) { return counter.values.size(); }},
        number("First", [](const auto& values) { return values.front(); }),
        number("Avg",
               [](const auto& values) {
                   return std::accumulate(values.begin(), values.end(), 0.0) / static_cast<double>(values.size());
               }),
        number("Min", [](const auto& values) { return *std::min_element(values.begin(), values.end()); }),
        number("Max", [](const auto& values) { return *std::max_element(values.begin(), values.end()); }),
        number("Last", [](const auto& values) { return values.back(); })};
    std::vector<counted> rows;
    std::uint64_t without_number = 0;
    for (const timeline_series& counter : input.data.series) {
        if (counter.source != series_source::counter) continue;
        counted row{counter.name, {}};
        for (const series_sample& sample : counter.samples) {
            if (std::isfinite(sample.value)) row.values.push_back(sample.value);
        }
        without_number += counter.samples.size() - row.values.size();
        if (!row.values.empty()) rows.push_back(std::move(row));
    }
    table out = make_table("counters", "Counters of the program", columns, rows);
    if (without_number != 0) {
        out.notes.push_back(std::to_string(without_number) + " values that are NaN or infinite are left out");
    }
    return or_none(std::move(out), "no counter was recorded");
}

}  // namespace prof
