// SPDX-License-Identifier: Apache-2.0
// The values of the program's counters (PROF_COUNTER, prof_counter), by name.
#include <algorithm>
#include <cmath>
#include <map>
#include <string>
#include <utility>

#include "report/makers.hpp"
#include "report/tables/nsight_columns.hpp"

namespace prof {

table counters_report(const report_input& input) {
    struct values {
        std::uint64_t count = 0;
        double first = 0;
        double sum = 0;
        double least = HUGE_VAL;
        double largest = -HUGE_VAL;
        double last = 0;
    };
    const timeline& data = input.data;
    std::map<std::string, values> by_name;
    std::uint64_t without_number = 0;
    for (const timeline_mark& mark : data.marks) {
        const std::optional<double> value = counter_value(data, mark);
        if (!value) continue;
        if (!std::isfinite(*value)) {
            ++without_number;
            continue;
        }
        values& of = by_name[std::string{data.name(mark.name)}];
        if (of.count++ == 0) of.first = *value;
        of.sum += *value;
        of.least = std::min(of.least, *value);
        of.largest = std::max(of.largest, *value);
        of.last = *value;
    }

    table out{"counters", "Counters of the program", {}, {}, {}};
    const auto number = [](const std::string& name) { return table_column{name, name, quantity::number}; };
    out.columns = {text_column("Counter"), count_column("Values"), number("First"), number("Avg"),
                   number("Min"),          number("Max"),          number("Last")};
    for (const auto& [name, of] : by_name) {
        out.rows.push_back(
            {name, of.count, of.first, of.sum / static_cast<double>(of.count), of.least, of.largest, of.last});
    }
    if (without_number != 0) {
        out.notes.push_back(std::to_string(without_number) + " values that are NaN or infinite are left out");
    }
    return or_none(std::move(out), "none was recorded");
}

}  // namespace prof
