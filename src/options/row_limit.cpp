// SPDX-License-Identifier: Apache-2.0
#include "options/row_limit.hpp"

#include <cstdint>

#include "base/number.hpp"

namespace prof {
namespace {

constexpr std::size_t most_rows = 1'000'000;

}  // namespace

std::optional<std::size_t> parse_row_limit(std::string_view text) noexcept {
    if (text == "all") return SIZE_MAX;
    return parse_number<std::size_t>(text, 1, most_rows);
}

}  // namespace prof
