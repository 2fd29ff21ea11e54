// SPDX-License-Identifier: Apache-2.0
// Parses decimal numbers, with bounds. Only digits are accepted, and a minus sign for signed types; for floating types
// also what std::from_chars accepts. No blanks, no plus sign, no locale's separators. Pure functions; no allocation.
#pragma once

#include <charconv>
#include <limits>
#include <optional>
#include <string_view>
#include <system_error>

namespace prof {

// Parses the number at the start of `text` and removes it from there. Returns nothing, and leaves `text` unchanged, if
// there is no number or it is out of bounds.
template <typename TNumber>
std::optional<TNumber> take_number(std::string_view& text, TNumber least = std::numeric_limits<TNumber>::lowest(),
                                   TNumber most = std::numeric_limits<TNumber>::max()) noexcept {
    TNumber number{};
    const auto [rest, status] = std::from_chars(text.data(), text.data() + text.size(), number);
    if (status != std::errc{} || !(number >= least && number <= most)) return {};  // NaN is out of any bounds
    text.remove_prefix(static_cast<std::size_t>(rest - text.data()));
    return number;
}

// The number, if it is all of `text`.
template <typename TNumber>
std::optional<TNumber> parse_number(std::string_view text, TNumber least = std::numeric_limits<TNumber>::lowest(),
                                    TNumber most = std::numeric_limits<TNumber>::max()) noexcept {
    const std::optional<TNumber> number = take_number(text, least, most);
    return text.empty() ? number : std::nullopt;
}

}  // namespace prof
