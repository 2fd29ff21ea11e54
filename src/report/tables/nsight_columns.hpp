// SPDX-License-Identifier: Apache-2.0
// The columns and cells that Nsight Systems' reports have in common; docs/reference/reports.md describes each report.
// Pure functions for the makers of these reports. They throw std::bad_alloc only.
#pragma once

#include <algorithm>
#include <cstdint>
#include <map>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "report/report_column.hpp"
#include "report/tables/durations.hpp"
#include "timeline/timeline.hpp"

namespace prof {

// `importance`: as in table_column; 0 is shown at any width.
inline table_column text_column(const std::string& name) { return {name, name, quantity::text}; }
inline table_column id_column(const std::string& name, int importance) {
    return {name, name, quantity::identity, importance};
}
inline table_column count_column(const std::string& name, int importance = 0) {
    return {name, name, quantity::count, importance};
}
inline table_column mean_column(const std::string& name, int importance) {
    return {name, name, quantity::number, importance, 1};
}
inline table_column time_column(const std::string& name, int importance = 0) {
    return {name + " (ns)", name, quantity::time_ns, importance, 1};
}
inline table_column percent_column() { return {"Time (%)", "Time", quantity::percent, 0, 1}; }

// Avg, Med, Min, Max and StdDev, each with `prefix` before it; none of them has a value without instances.
template <typename TRow>
report_columns<TRow> statistics_columns(duration_statistics TRow::*time, const std::string& prefix = {},
                                        int importance = 0) {
    const auto column = [&](const char* name, int more, auto figure) {
        return report_column<TRow>{time_column(prefix + name, importance + more), [time, figure](const TRow& row) {
                                       return none_unless((row.*time).instances != 0, row.*time.*figure);
                                   }};
    };
    return {column("Avg", 0, &duration_statistics::mean_ns), column("Med", 1, &duration_statistics::median_ns),
            column("Min", 2, &duration_statistics::min_ns), column("Max", 2, &duration_statistics::max_ns),
            column("StdDev", 3, &duration_statistics::stddev_ns)};
}

inline std::string nsight_style(range_style style) { return style == range_style::push_pop ? "PushPop" : "StartEnd"; }

// The pid from the capture's properties; 0 if it is not there.
inline table_cell process_cell(const timeline& data) { return data.number("pid").value_or(0); }

// Sorts by size(row), descending; equal ones keep their order.
template <typename TRow, typename TSize>
std::vector<TRow> largest_first(std::vector<TRow> rows, TSize&& size) {
    std::stable_sort(rows.begin(), rows.end(), [&](const TRow& a, const TRow& b) { return size(a) > size(b); });
    return rows;
}

struct named_times {
    std::string name{};
    double percent = 0;
    duration_statistics time{};
};

// A table with a row for each name: share of the time, total, count, statistics, name. By total, descending; for people
// a total, or without rows the line `none`. O(n) in the durations. REQUIRES: each name has a duration.
inline table time_summary(std::string report, std::string heading, const std::string& count_title,
                          const std::string& name_title,
                          const std::map<std::string, std::vector<std::int64_t>>& durations_ns, const char* none) {
    report_columns<named_times> columns = {
        {percent_column(), &named_times::percent},
        {time_column("Total Time"), [](const named_times& row) { return row.time.total_ns; }, true},
        {count_column(count_title), [](const named_times& row) { return row.time.instances; }, true}};
    append(columns, statistics_columns(&named_times::time));
    columns.push_back({text_column(name_title), &named_times::name, true});

    std::vector<named_times> rows;
    std::vector<std::int64_t> totals_ns;
    named_times all{.name = "total"};
    for (const auto& [name, durations] : durations_ns) {
        rows.push_back({.name = name, .time = summarize(durations)});
        totals_ns.push_back(rows.back().time.total_ns);
        all.time.total_ns += rows.back().time.total_ns;
        all.time.instances += durations.size();
    }
    for (named_times& row : rows) row.percent = 100 * share_of(row.time.total_ns, all.time.total_ns);
    rows = largest_first(std::move(rows), [](const named_times& row) { return row.time.total_ns; });
    table out = make_table(std::move(report), std::move(heading), columns, rows);
    out.unit_ns = typical_time(std::move(totals_ns));
    out.sums = {sums_of(columns, all)};
    out.legend = {{"Time", "Time: of the total of all rows."}};
    return or_none(std::move(out), none);
}

// Groups keys (name ids, …) by the text that is shown for them. `make` is called once for each key, since it may be
// expensive (demangling). Keys with equal texts have the same id, 0, 1, ….
class text_ids {
public:
    template <typename TMake>
    std::uint32_t of(std::uint64_t key, TMake&& make) {
        const auto known = by_key_.find(key);
        if (known != by_key_.end()) return known->second;
        const auto [found, added] = by_text_.emplace(make(), static_cast<std::uint32_t>(texts_.size()));
        if (added) texts_.push_back(&found->first);
        by_key_.emplace(key, found->second);
        return found->second;
    }
    // REQUIRES: of() returned `id`. Valid as long as this object.
    const std::string& text(std::uint32_t id) const { return *texts_[id]; }

private:
    std::unordered_map<std::uint64_t, std::uint32_t> by_key_;
    std::map<std::string, std::uint32_t> by_text_;
    std::vector<const std::string*> texts_;
};

// "domain:text"; ":text" in the default domain. Digits are kept.
inline std::string nsight_range_name(const timeline& data, const timeline_range& range) {
    const std::string_view name = data.name(range.name);
    return (range.domain == 0 ? std::string{} : data.domains[range.domain].name) + ':' +
           (name.empty() ? "(unnamed)" : std::string{name});
}

}  // namespace prof
