// SPDX-License-Identifier: Apache-2.0
// The values of the program's counters (PROF_COUNTER, prof_counter), by name.
#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <numeric>
#include <string>
#include <utility>
#include <vector>

#include "report/makers.hpp"
#include "report/tables/nsight_columns.hpp"

namespace prof {

namespace {

struct counter_values {
    std::string name;
    std::size_t count;
    double first, mean, least, largest, last;
};

report_column<counter_values> number(const char* name, double counter_values::*value) {
    return {{name, name, quantity::number}, value};
}

}  // namespace

table counters_report(const report_input& input) {
    const report_columns<counter_values> columns = {{text_column("Counter"), &counter_values::name},
                                                    {count_column("Values"), &counter_values::count},
                                                    number("First", &counter_values::first),
                                                    number("Avg", &counter_values::mean),
                                                    number("Min", &counter_values::least),
                                                    number("Max", &counter_values::largest),
                                                    number("Last", &counter_values::last)};
    std::vector<counter_values> rows;
    std::uint64_t without_number = 0;
    for (const timeline_series& counter : input.data.series) {
        if (counter.source != series_source::counter) continue;
        std::vector<double> values;
        values.reserve(counter.samples.size());
        for (const series_sample& sample : counter.samples) {
            if (std::isfinite(sample.value)) values.push_back(sample.value);
        }
        without_number += counter.samples.size() - values.size();
        if (values.empty()) continue;
        const auto [least, largest] = std::minmax_element(values.begin(), values.end());
        const double mean = std::accumulate(values.begin(), values.end(), 0.0) / static_cast<double>(values.size());
        rows.push_back({counter.name, values.size(), values.front(), mean, *least, *largest, values.back()});
    }
    table out = make_table("counters", "Counters of the program", columns, rows);
    if (without_number != 0) {
        out.notes.push_back(std::to_string(without_number) + " values that are NaN or infinite are left out");
    }
    return or_none(std::move(out), "no counter was recorded");
}

}  // namespace prof
