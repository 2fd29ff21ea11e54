// SPDX-License-Identifier: Apache-2.0
// The value of the option `rows`: how many rows a table for people has at most. Pure functions.
#pragma once

#include <cstddef>
#include <optional>
#include <string_view>

namespace prof {

inline constexpr std::string_view accepted_row_limit = "all, or a whole number from 1 to 1000000";
// "all" (SIZE_MAX) or a number.
std::optional<std::size_t> parse_row_limit(std::string_view text) noexcept;

}  // namespace prof
