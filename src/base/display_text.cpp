// SPDX-License-Identifier: Apache-2.0
#include "base/display_text.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <cstdint>
#include <iterator>

#include "base/json_text.hpp"

namespace prof {
namespace {

struct cell_range {
    char32_t first;
    char32_t last;
    std::uint8_t cells;
};
constexpr cell_range other_widths[] = {
#include "base/cell_widths.inl"
};

std::size_t cells_of(char32_t code) noexcept {
    if (code < other_widths[0].first) return 1;
    const auto* const range = std::lower_bound(std::begin(other_widths), std::end(other_widths), code,
                                               [](const cell_range& cells, char32_t c) { return cells.last < c; });
    return range != std::end(other_widths) && range->first <= code ? range->cells : 1;
}

// A code point of a text.
struct code_point {
    std::size_t bytes;
    std::size_t cells;
};

// REQUIRES: `text` is not empty. A byte that is not UTF-8 takes a cell.
code_point first_of(std::string_view text) noexcept {
    const std::size_t bytes = utf8_sequence_length(text);
    if (bytes < 2) return {1, 1};
    char32_t code = static_cast<unsigned char>(text[0]) & (0xFFU >> (bytes + 1));
    for (std::size_t i = 1; i < bytes; ++i) code = code << 6 | (static_cast<unsigned char>(text[i]) & 0x3FU);
    return {bytes, cells_of(code)};
}

// The longest beginning of `text` in at most `width` cells, with the marks that join its last character.
std::string_view head(std::string_view text, std::size_t width) noexcept {
    std::size_t index = 0;
    while (index < text.size()) {
        const code_point next = first_of(text.substr(index));
        if (next.cells > width) break;
        width -= next.cells;
        index += next.bytes;
    }
    return text.substr(0, index);
}

// The longest end of `text` in at most `width` cells. It does not begin with a mark that joins another character.
std::string_view tail(std::string_view text, std::size_t width) noexcept {
    std::size_t left = display_width(text);
    while (!text.empty()) {
        const code_point next = first_of(text);
        if (left <= width && next.cells != 0) break;
        left -= next.cells;
        text.remove_prefix(next.bytes);
    }
    return text;
}

}  // namespace

std::size_t display_width(std::string_view text) noexcept {
    std::size_t cells = 0;
    while (!text.empty()) {
        const code_point next = first_of(text);
        cells += next.cells;
        text.remove_prefix(next.bytes);
    }
    return cells;
}

std::string shortened(std::string_view text, std::size_t width) {
    if (display_width(text) <= width) return std::string(text);
    if (width <= 1) return width == 0 ? "" : "…";
    const std::size_t kept = width - 1;
    return std::string(head(text, kept - kept / 3)) + "…" + std::string(tail(text, kept / 3));
}

std::string beginning_of(std::string_view text, std::size_t width) {
    if (display_width(text) <= width) return std::string(text);
    return width == 0 ? "" : std::string(head(text, width - 1)) + "…";
}

std::string wrapped(std::string_view text, std::size_t width, std::string_view indent) {
    std::string out;
    std::size_t column = 0;
    while (!text.empty()) {
        const std::string_view word = text.substr(0, std::min(text.find(' ', 1), text.size()));
        text.remove_prefix(word.size());
        if (column != 0 && column + display_width(word) > width) {
            out.append("\n").append(indent).append(word.substr(1));
            column = indent.size() + display_width(word) - 1;
        } else {
            out += word;
            column += display_width(word);
        }
    }
    return out + '\n';
}

std::string right_aligned(std::string_view text, std::size_t width) {
    const std::size_t cells = display_width(text);
    return std::string(width > cells ? width - cells : 0, ' ').append(text);
}

std::string left_aligned(std::string_view text, std::size_t width) {
    const std::size_t cells = display_width(text);
    return std::string(text).append(width > cells ? width - cells : 0, ' ');
}

std::string with_thousands(std::uint64_t value) {
    std::string digits = std::to_string(value);
    for (std::size_t index = digits.size(); index > 3;) digits.insert(index -= 3, ",");
    return digits;
}

std::string bytes_text(std::uint64_t bytes) {
    constexpr std::array<std::string_view, 5> units = {"B", "kB", "MB", "GB", "TB"};
    auto value = static_cast<double>(bytes);
    std::size_t unit = 0;
    for (; value >= 1000 && unit + 1 < units.size(); ++unit) value /= 1000;
    if (unit == 0) return std::to_string(bytes) + " B";
    std::array<char, 32> text{};
    const auto end = std::to_chars(text.data(), text.data() + text.size(), value, std::chars_format::fixed, 2);
    return std::string(text.data(), end.ptr) + ' ' + std::string(units[unit]);
}

}  // namespace prof
