// SPDX-License-Identifier: Apache-2.0
// The statistics of a set of durations, and the columns that tables by name have for them. Pure functions.
#pragma once

#include <algorithm>
#include <cstdint>
#include <numeric>
#include <utility>
#include <vector>

#include "base/statistics.hpp"
#include "report/report_column.hpp"

namespace prof {

struct duration_statistics {
    std::uint64_t instances = 0;
    std::int64_t total_ns = 0;
    std::int64_t min_ns = 0;
    double median_ns = 0;
    double mean_ns = 0;
    std::int64_t max_ns = 0;
    double stddev_ns = 0;  // of the sample (n − 1)
};

// Linear; copies the durations once, for the median. Of none, all is 0.
inline duration_statistics summarize(const std::vector<std::int64_t>& durations_ns) {
    if (durations_ns.empty()) return {};
    const auto [shortest, longest] = std::minmax_element(durations_ns.begin(), durations_ns.end());
    return {.instances = durations_ns.size(),
            .total_ns = std::accumulate(durations_ns.begin(), durations_ns.end(), std::int64_t{0}),
            .min_ns = *shortest,
            .median_ns = median(durations_ns),
            .mean_ns = mean(durations_ns),
            .max_ns = *longest,
            .stddev_ns = sample_stddev(durations_ns)};
}

// 0 … 1; 0 of nothing.
inline double share_of(std::int64_t part_ns, std::int64_t total_ns) noexcept {
    return total_ns == 0 ? 0 : static_cast<double>(part_ns) / static_cast<double>(total_ns);
}

// Cells of the share that one member has of another.
template <typename TRow, typename TBase>
auto share_of(std::int64_t TRow::*part_ns, std::int64_t TBase::*total_ns) {
    return [=](const auto& row) { return share_of(row.*part_ns, row.*total_ns); };
}

// The columns that libprof's own tables have for the share (0 … 1) and the statistics of a row.
template <typename TRow>
report_columns<TRow> duration_columns(double TRow::*share, duration_statistics TRow::*time) {
    const auto of_time = [time](auto figure) { return [time, figure](const TRow& row) { return row.*time.*figure; }; };
    return {{{"share", "%", quantity::share}, share},
            {{"instances", "count", quantity::count}, of_time(&duration_statistics::instances), true},
            {{"total_ns", "total", quantity::time_ns}, of_time(&duration_statistics::total_ns), true},
            {{"min_ns", "min", quantity::time_ns, 4}, of_time(&duration_statistics::min_ns)},
            {{"median_ns", "median", quantity::time_ns, 2}, of_time(&duration_statistics::median_ns)},
            {{"mean_ns", "mean", quantity::time_ns, 1}, of_time(&duration_statistics::mean_ns)},
            {{"max_ns", "max", quantity::time_ns, 3}, of_time(&duration_statistics::max_ns)},
            {{"stddev_ns", "stddev", quantity::time_ns, 6}, of_time(&duration_statistics::stddev_ns)}};
}

inline double mean_over(std::int64_t total, std::uint64_t count) {
    return static_cast<double>(total) / static_cast<double>(std::max<std::uint64_t>(count, 1));
}

// The time for which a table chooses its unit: that of the middle row, so that most can be read, unless the largest
// would have too many digits.
inline std::int64_t typical_time(std::vector<std::int64_t> totals_ns) {
    constexpr std::int64_t most_digits = 10'000;
    if (totals_ns.empty()) return 0;
    const std::int64_t largest_ns = *std::max_element(totals_ns.begin(), totals_ns.end());
    return std::max(static_cast<std::int64_t>(median(std::move(totals_ns))), largest_ns / most_digits);
}

// People get this line where a list has no rows.
inline table or_none(table of, const char* none) {
    if (row_count(of) == 0) of.instead = none;
    return of;
}

}  // namespace prof
