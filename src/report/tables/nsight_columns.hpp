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

#include "report/table.hpp"
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

// Adds Avg, Med, Min, Max and StdDev, each with `prefix` before it.
inline void add_time_columns(std::vector<table_column>& columns, const std::string& prefix = {}, int importance = 0) {
    columns.push_back(time_column(prefix + "Avg", importance));
    columns.push_back(time_column(prefix + "Med", importance + 1));
    columns.push_back(time_column(prefix + "Min", importance + 2));
    columns.push_back(time_column(prefix + "Max", importance + 2));
    columns.push_back(time_column(prefix + "StdDev", importance + 3));
}

// Adds the five cells for the columns of add_time_columns(); empty cells if there are no values.
inline void add_statistics(std::vector<table_cell>& row, const std::vector<std::int64_t>& values) {
    if (values.empty()) {
        row.insert(row.end(), 5, table_cell{});
        return;
    }
    const duration_statistics of = summarize(values);
    for (table_cell cell : {table_cell{of.mean_ns}, table_cell{of.median_ns}, table_cell{of.min_ns},
                            table_cell{of.max_ns}, table_cell{of.stddev_ns}}) {
        row.push_back(std::move(cell));
    }
}

inline std::string nsight_style(range_style style) { return style == range_style::push_pop ? "PushPop" : "StartEnd"; }

// The pid from the capture's properties; 0 if it is not there.
inline table_cell process_cell(const timeline& data) { return data.number("pid").value_or(0); }

// Sorts rows by the number beside each, descending; equal ones keep their order. Returns the rows alone.
inline std::vector<std::vector<table_cell>> largest_first(
    std::vector<std::pair<std::int64_t, std::vector<table_cell>>> rows) {
    std::stable_sort(rows.begin(), rows.end(), [](const auto& a, const auto& b) { return a.first > b.first; });
    std::vector<std::vector<table_cell>> out;
    out.reserve(rows.size());
    for (auto& [size, row] : rows) out.push_back(std::move(row));
    return out;
}

// Gives `out` its columns and a row for each name: share of the time, total, count, statistics, name. By total,
// descending; for people a total, or without rows the line `none`. O(n) in the durations. REQUIRES: each name has a
// duration.
inline table time_summary(table out, const std::string& count_title, const std::string& name_title,
                          const std::map<std::string, std::vector<std::int64_t>>& durations_ns, const char* none) {
    out.columns = {percent_column(), time_column("Total Time"), count_column(count_title)};
    add_time_columns(out.columns);
    out.columns.push_back(text_column(name_title));
    std::int64_t all_ns = 0;
    for (const auto& [name, of] : durations_ns) all_ns += summarize(of).total_ns;
    std::vector<std::pair<std::int64_t, std::vector<table_cell>>> rows;
    std::vector<std::int64_t> totals_ns;
    std::uint64_t count = 0;
    for (const auto& [name, of] : durations_ns) {
        const std::int64_t total_ns = summarize(of).total_ns;
        std::vector<table_cell> row = {100 * share_of(total_ns, all_ns), total_ns, of.size()};
        add_statistics(row, of);
        row.emplace_back(name);
        rows.emplace_back(total_ns, std::move(row));
        totals_ns.push_back(total_ns);
        count += of.size();
    }
    out.rows = largest_first(std::move(rows));
    out.unit_ns = typical_time(std::move(totals_ns));
    const table_cell blank = blank_cell();
    out.sums = {{blank, all_ns, count, blank, blank, blank, blank, blank, std::string("total")}};
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
