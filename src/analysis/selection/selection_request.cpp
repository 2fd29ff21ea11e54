// SPDX-License-Identifier: Apache-2.0
#include "analysis/selection/selection_request.hpp"

#include <chrono>
#include <cmath>

#include "base/number.hpp"

namespace prof {
namespace {

constexpr double most_seconds = 9e9;  // within 64 bits of nanoseconds

// "1.5", "1.5s", "20ms"
std::optional<moment> parse_relative(std::string_view text) {
    const auto number = take_number<double>(text, 0, most_seconds * 1e9);
    if (!number) return {};
    double unit_ns = 0;
    if (text.empty() || text == "s") unit_ns = 1e9;
    if (text == "ms") unit_ns = 1e6;
    if (text == "us") unit_ns = 1e3;
    if (text == "ns") unit_ns = 1;
    if (unit_ns == 0 || *number * unit_ns > most_seconds * 1e9) return {};
    return moment{.ns = std::llround(*number * unit_ns)};
}

bool take(std::string_view& text, std::string_view any_of) {
    if (text.empty() || any_of.find(text.front()) == std::string_view::npos) return false;
    text.remove_prefix(1);
    return true;
}

std::optional<unsigned> take_digits(std::string_view& text, std::size_t count, unsigned least, unsigned most) {
    if (text.size() < count) return {};
    const auto number = parse_number<unsigned>(text.substr(0, count), least, most);
    if (number) text.remove_prefix(count);
    return number;
}

// "2026-01-31T12:30:59.5Z"
std::optional<moment> parse_absolute(std::string_view text) {
    using namespace std::chrono;
    const auto year_number = take_digits(text, 4, 1970, 2200);
    if (!year_number || !take(text, "-")) return {};
    const auto month_number = take_digits(text, 2, 1, 12);
    if (!month_number || !take(text, "-")) return {};
    const auto day_number = take_digits(text, 2, 1, 31);
    if (!day_number || !take(text, "Tt ")) return {};
    const auto hour = take_digits(text, 2, 0, 23);
    if (!hour || !take(text, ":")) return {};
    const auto minute = take_digits(text, 2, 0, 59);
    if (!minute) return {};
    std::int64_t ns = (*hour * INT64_C(3600) + *minute * INT64_C(60)) * 1'000'000'000;
    if (take(text, ":")) {
        const auto second = take_number<double>(text, 0, 60);
        if (!second) return {};
        ns += std::llround(*second * 1e9);
    }
    take(text, "Zz");
    const year_month_day date{year{static_cast<int>(*year_number)}, month{*month_number}, day{*day_number}};
    if (!text.empty() || !date.ok()) return {};
    return moment{.ns = sys_days{date}.time_since_epoch().count() * INT64_C(86'400'000'000'000) + ns,
                  .is_absolute = true};
}

}  // namespace

std::optional<step_slice> parse_step_slice(std::string_view text) {
    step_slice out;
    const std::size_t colon = text.find(':');
    const std::string_view first = text.substr(0, colon);
    if (!first.empty()) {
        const auto number = parse_number<std::uint64_t>(first, 0, UINT64_MAX - 1);
        if (!number) return {};
        out.first = *number;
    }
    if (colon == std::string_view::npos) {
        out.end = out.first + 1;
        return first.empty() ? std::nullopt : std::optional(out);
    }
    const std::string_view end = text.substr(colon + 1);
    if (end.empty()) return first.empty() ? std::nullopt : std::optional(out);
    const auto number = parse_number<std::uint64_t>(end);
    if (!number || *number <= out.first) return {};
    out.end = *number;
    return out;
}

std::optional<moment> parse_moment(std::string_view text) {
    const std::optional<moment> relative = parse_relative(text);
    return relative ? relative : parse_absolute(text);
}

}  // namespace prof
