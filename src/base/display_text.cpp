// SPDX-License-Identifier: Apache-2.0
#include "base/display_text.hpp"

#include <algorithm>

namespace prof {
namespace {

bool is_continuation(char c) noexcept { return (static_cast<unsigned char>(c) & 0xC0) == 0x80; }

// The first (or last) `width` cells of `text`.
std::string_view head(std::string_view text, std::size_t width) {
    std::size_t at = 0;
    for (; at < text.size(); ++at) {
        if (!is_continuation(text[at]) && width-- == 0) break;
    }
    return text.substr(0, at);
}

std::string_view tail(std::string_view text, std::size_t width) {
    std::size_t at = text.size();
    while (at > 0 && width > 0) {
        if (!is_continuation(text[--at])) --width;
    }
    return text.substr(at);
}

}  // namespace

std::size_t display_width(std::string_view text) noexcept {
    return static_cast<std::size_t>(
        std::count_if(text.begin(), text.end(), [](char c) { return !is_continuation(c); }));
}

std::string shortened(std::string_view text, std::size_t width) {
    if (display_width(text) <= width) return std::string(text);
    if (width <= 1) return width == 0 ? "" : "…";
    const std::size_t kept = width - 1;
    return std::string(head(text, kept - kept / 3)) + "…" + std::string(tail(text, kept / 3));
}

std::string with_thousands(std::uint64_t value) {
    std::string digits = std::to_string(value);
    for (std::size_t at = digits.size(); at > 3;) digits.insert(at -= 3, ",");
    return digits;
}

}  // namespace prof
