// SPDX-License-Identifier: Apache-2.0
#include "plan/slow_steps.hpp"

#include <algorithm>
#include <cstdio>

#include "base/number.hpp"

namespace prof {

double slow_steps::median() const noexcept {
    std::array<std::uint64_t, compared> sorted = lengths_;
    const std::size_t count = std::min(seen_, compared);
    auto* const middle = sorted.begin() + count / 2;
    std::nth_element(sorted.begin(), middle, sorted.begin() + count);
    const auto upper = static_cast<double>(*middle);
    if (count % 2 != 0) return upper;
    return (upper + static_cast<double>(*std::max_element(sorted.begin(), middle))) / 2;
}

std::optional<std::string> slow_steps::begin_step(std::uint64_t number, std::uint64_t now_ns) {
    const std::uint64_t begun_ns = begun_ns_;
    const bool is_next = number == number_ + 1;
    begun_ns_ = now_ns;
    number_ = number;
    if (begun_ns == 0 || !is_next) return {};
    const std::uint64_t length = now_ns - begun_ns;
    std::optional<std::string> slow;
    if (seen_ >= least_compared && static_cast<double>(length) > factor_ * median()) {
        char text[160];
        std::snprintf(text, sizeof text, "step %llu took %.3f ms, %.1f times the median of the %zu steps before it",
                      static_cast<unsigned long long>(number), static_cast<double>(length) * 1e-6,
                      static_cast<double>(length) / median(), std::min(seen_, compared));
        slow = text;
    }
    lengths_[seen_++ % compared] = length;
    return slow;
}

bool parse_slow_factor(std::string_view text, double& out) {
    const std::optional<double> factor = parse_number(text, slow_steps::least_factor, slow_steps::most_factor);
    if (factor) out = *factor;
    return factor.has_value();
}

}  // namespace prof
