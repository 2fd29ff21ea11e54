// SPDX-License-Identifier: Apache-2.0
#include "export/report/screen/screen_numbers.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdlib>

#include "base/apportioned.hpp"
#include "base/display_text.hpp"

namespace prof {
namespace {

screen_unit with_decimals(std::string_view name, double unit_ns, int decimals) noexcept {
    return {name, unit_ns / std::pow(10.0, decimals), decimals};
}

int decimals_of_four_digits(double value) noexcept { return value < 10 ? 3 : value < 100 ? 2 : value < 1000 ? 1 : 0; }

}  // namespace

screen_unit screen_unit::for_step(double step_ns) noexcept {
    const unit_of_time unit = unit_of_step(step_ns);
    return with_decimals(unit.name, unit.ns, decimals_of_four_digits(step_ns / unit.ns));
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

}  // namespace prof
