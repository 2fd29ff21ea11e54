// Numbers in decimal text, with the bounds that they must keep. Nothing but the digits is accepted (of a signed or
// floating type a minus sign, too): no blanks, no plus sign, no locale's separators. Pure functions; no allocation.
#pragma once

#include <charconv>
#include <limits>
#include <optional>
#include <string_view>
#include <system_error>

namespace prof {

// Takes the number that `text` begins with off its front. Where it begins with none, or with one out of bounds, `text`
// stays as it was.
template <typename TNumber>
std::optional<TNumber> take_number(std::string_view& text, TNumber least = std::numeric_limits<TNumber>::lowest(),
                                   TNumber most = std::numeric_limits<TNumber>::max()) noexcept {
    TNumber number{};
    const auto [rest, status] = std::from_chars(text.data(), text.data() + text.size(), number);
    if (status != std::errc{} || !(number >= least && number <= most)) return {};  // NaN is in no bounds
    text.remove_prefix(static_cast<std::size_t>(rest - text.data()));
    return number;
}

// The number that is all of `text`.
template <typename TNumber>
std::optional<TNumber> parse_number(std::string_view text, TNumber least = std::numeric_limits<TNumber>::lowest(),
                                    TNumber most = std::numeric_limits<TNumber>::max()) noexcept {
    const std::optional<TNumber> number = take_number(text, least, most);
    return text.empty() ? number : std::nullopt;
}

}  // namespace prof
