// SPDX-License-Identifier: Apache-2.0
#include "export/report/screen/screen_numbers.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdlib>
#include <utility>

#include "base/display_text.hpp"

namespace prof {
namespace {

screen_unit with_decimals(std::string_view name, double unit_ns, int decimals) noexcept {
    return {name, unit_ns / std::pow(10.0, decimals), decimals};
}

int decimals_of_four_digits(double value) noexcept { return value < 10 ? 3 : value < 100 ? 2 : value < 1000 ? 1 : 0; }

}  // namespace

screen_unit screen_unit::for_step(double step_ns) noexcept {
    if (step_ns < 1e6) return with_decimals("us", 1e3, decimals_of_four_digits(step_ns / 1e3));
    if (step_ns < 1e10) return with_decimals("ms", 1e6, decimals_of_four_digits(step_ns / 1e6));
    return with_decimals("s", 1e9, decimals_of_four_digits(step_ns / 1e9));
}

screen_unit screen_unit::for_run(double run_ns) noexcept {
    int decimals = 2;
    for (double least = 1e9; run_ns < least && decimals < 6; least /= 10) ++decimals;
    return with_decimals("s", 1e9, decimals);
}

std::int64_t screen_unit::quanta(double ns) const noexcept {
    constexpr double most = 9e15;  // of damaged captures
    return std::llround(std::clamp(ns / quantum_ns, 0.0, most));
}

std::string screen_unit::text(std::int64_t quanta) const {
    std::int64_t one = 1;
    for (int i = 0; i < decimals; ++i) one *= 10;
    const auto [whole, rest] = std::lldiv(std::max<std::int64_t>(quanta, 0), one);
    std::string out = with_thousands(static_cast<std::uint64_t>(whole));
    if (decimals != 0) out += fmt::format(".{:0{}}", rest, decimals);
    return out;
}

std::string screen_unit::with_unit(std::int64_t quanta) const { return fmt::format("{} {}", text(quanta), name); }

std::vector<std::int64_t> apportioned(std::span<const double> shares, std::int64_t total) {
    std::vector<std::int64_t> out(shares.size(), 0);
    double sum = 0;
    for (const double share : shares) sum += share;
    if (!(sum > 0) || total <= 0) return out;
    std::vector<std::pair<double, std::size_t>> lost;
    std::int64_t left = total;
    for (std::size_t i = 0; i < shares.size(); ++i) {
        const double exact = shares[i] / sum * static_cast<double>(total);
        out[i] = static_cast<std::int64_t>(std::floor(exact));
        left -= out[i];
        if (shares[i] > 0) lost.emplace_back(static_cast<double>(out[i]) - exact, i);
    }
    std::stable_sort(lost.begin(), lost.end(), [](const auto& a, const auto& b) { return a.first < b.first; });
    for (std::size_t i = 0; left > 0; i = (i + 1) % lost.size(), --left) ++out[lost[i].second];
    for (std::size_t i = lost.size(); left < 0 && i-- > 0;) {  // rounding of large numbers
        if (out[lost[i].second] == 0) continue;
        --out[lost[i].second];
        ++left;
    }
    return out;
}

}  // namespace prof
