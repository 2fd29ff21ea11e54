// SPDX-License-Identifier: Apache-2.0
#include "options/keep.hpp"

#include <algorithm>
#include <array>

#include "base/number.hpp"
#include "base/text.hpp"

namespace prof {
namespace {

struct keep_unit {
    std::string_view name;
    std::uint64_t keep_limits::*limit;
    std::uint64_t factor;
    std::uint64_t least;
    std::uint64_t most;
};

constexpr std::uint64_t second_ns = 1'000'000'000;
constexpr std::uint64_t longest_ns = 3600 * second_ns * 168;
constexpr std::uint64_t least_bytes = 8U << 20;
constexpr std::uint64_t most_bytes = std::uint64_t{1} << 40;

constexpr keep_unit of_time(std::string_view name, std::uint64_t seconds) {
    return {name, &keep_limits::time_ns, seconds * second_ns, second_ns, longest_ns};
}
constexpr keep_unit of_size(std::string_view name, int power) {
    return {name, &keep_limits::bytes, std::uint64_t{1} << power, least_bytes, most_bytes};
}
constexpr std::array keep_units = {of_time("s", 1),   of_time("m", 60),  of_time("h", 3600),
                                   of_size("M", 20),  of_size("MB", 20), of_size("G", 30),
                                   of_size("GB", 30), of_size("T", 40),  of_size("TB", 40)};

bool parse_limit(std::string_view text, keep_limits& out) {
    const std::optional<std::uint64_t> number = take_number<std::uint64_t>(text);
    const auto* const unit =
        std::find_if(keep_units.begin(), keep_units.end(), [&](const keep_unit& known) { return known.name == text; });
    if (!number || unit == keep_units.end()) return false;
    if (*number > unit->most / unit->factor || *number * unit->factor < unit->least) return false;
    if (out.*unit->limit != 0) return false;  // twice the same kind
    out.*unit->limit = *number * unit->factor;
    return true;
}

}  // namespace

bool parse_keep(std::string_view text, keep_limits& out) {
    out = {};
    for (const std::string_view limit : split(text, ',')) {
        if (!parse_limit(limit, out)) return false;
    }
    return true;
}

}  // namespace prof
