// SPDX-License-Identifier: Apache-2.0
// Order and spread of durations. Pure functions. A vector that is reordered is passed by value.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <numeric>
#include <utility>
#include <vector>

namespace prof {

// For an even number of values the mean of the middle two; 0 for none.
inline double median(std::vector<std::int64_t> values) {
    if (values.empty()) return 0;
    const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
    std::nth_element(values.begin(), middle, values.end());
    const auto upper = static_cast<double>(*middle);
    if (values.size() % 2 != 0) return upper;
    return (static_cast<double>(*std::max_element(values.begin(), middle)) + upper) / 2;
}

inline double mean(const std::vector<std::int64_t>& values) {
    if (values.empty()) return 0;
    const auto sum = std::accumulate(values.begin(), values.end(), std::int64_t{0});
    return static_cast<double>(sum) / static_cast<double>(values.size());
}

// Of the sample (divisor n − 1); 0 for fewer than two values.
inline double sample_stddev(const std::vector<std::int64_t>& values) {
    if (values.size() < 2) return 0;
    const double middle = mean(values);
    double squares = 0;
    for (const std::int64_t value : values) {
        const double distance = static_cast<double>(value) - middle;
        squares += distance * distance;
    }
    return std::sqrt(squares / static_cast<double>(values.size() - 1));
}

// A value above this is unusually large: it exceeds the median by that factor, and by 5 median absolute deviations,
// scaled by 1.4826 so that they are standard deviations if the values are distributed normally.
inline double longest_usual(const std::vector<std::int64_t>& values, double factor) {
    const double middle = median(values);
    std::vector<std::int64_t> distances;
    distances.reserve(values.size());
    for (const std::int64_t value : values) {
        distances.push_back(std::llround(std::abs(static_cast<double>(value) - middle)));
    }
    return std::max(factor * middle, middle + 5 * 1.4826 * median(std::move(distances)));
}

// Stops at the largest value instead of wrapping. Only a program that reports absurd numbers of bytes gets there.
inline void add_saturating(std::uint64_t& sum, std::uint64_t value) noexcept {
    sum = value > UINT64_MAX - sum ? UINT64_MAX : sum + value;
}

// Adds up the length of the union of intervals, for each device, over all devices. The intervals must be sorted by
// device, and by start within a device.
class busy_time {
public:
    void add(std::uint32_t device, std::int64_t start_ns, std::int64_t end_ns) noexcept {
        if (device != device_ || !begun_) {
            device_ = device;
            begun_ = true;
            covered_until_ns_ = start_ns;
        }
        const std::int64_t fresh_from = std::max(start_ns, covered_until_ns_);
        if (end_ns > fresh_from) {
            total_ns_ += end_ns - fresh_from;
            covered_until_ns_ = end_ns;
        }
    }
    std::int64_t total_ns() const noexcept { return total_ns_; }

private:
    std::int64_t total_ns_ = 0;
    std::int64_t covered_until_ns_ = 0;
    std::uint32_t device_ = 0;
    bool begun_ = false;
};

}  // namespace prof
