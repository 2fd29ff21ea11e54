// SPDX-License-Identifier: Apache-2.0
// The eight figures of pandas' describe(), which several of HTA's summaries consist of. Pure functions.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <map>
#include <optional>
#include <vector>

namespace prof {

struct description {
    std::uint64_t count = 0;
    double mean = 0;
    std::optional<double> stddev{};  // of the sample (n − 1); none for one value
    double min = 0;
    double p25 = 0;  // percentiles lie between two values in proportion
    double median = 0;
    double p75 = 0;
    double max = 0;
};

// Value → how often. REQUIRES: not empty, no count of 0.
template <typename TValue>
class histogram {
public:
    void add(TValue value, std::uint64_t count = 1) {
        times_[value] += count;
        count_ += count;
    }
    bool empty() const noexcept { return count_ == 0; }
    std::uint64_t count() const noexcept { return count_; }

    // The value at a share of the way from the least to the largest, 0 … 1.
    double quantile(double share) const {
        const double position = share * static_cast<double>(count_ - 1);
        const double below = std::floor(position);
        const double low = at(static_cast<std::uint64_t>(below));
        const double high = at(static_cast<std::uint64_t>(std::ceil(position)));
        return low + (high - low) * (position - below);
    }

    description describe() const {
        double sum = 0;
        for (const auto& [value, count] : times_) sum += static_cast<double>(value) * static_cast<double>(count);
        const double mean = sum / static_cast<double>(count_);
        double squares = 0;
        for (const auto& [value, count] : times_) {
            const double distance = static_cast<double>(value) - mean;
            squares += distance * distance * static_cast<double>(count);
        }
        description out{.count = count_, .mean = mean};
        if (count_ > 1) out.stddev = std::sqrt(squares / static_cast<double>(count_ - 1));
        out.min = quantile(0);
        out.p25 = quantile(0.25);
        out.median = quantile(0.5);
        out.p75 = quantile(0.75);
        out.max = quantile(1);
        return out;
    }

private:
    double at(std::uint64_t index) const {
        for (const auto& [value, count] : times_) {
            if (index < count) return static_cast<double>(value);
            index -= count;
        }
        return 0;
    }

    std::map<TValue, std::uint64_t> times_;
    std::uint64_t count_ = 0;
};

}  // namespace prof
