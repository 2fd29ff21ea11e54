// SPDX-License-Identifier: Apache-2.0
// Text as people read it: its width in a terminal, a shorter form, numbers with separators. Pure functions; any thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace prof {

// In a terminal's cells: 2 for a wide character (CJK, emoji), 0 for a mark that joins the character before it.
std::size_t display_width(std::string_view text) noexcept;
// `text` in at most `width` cells, its middle replaced by an ellipsis if need be.
std::string shortened(std::string_view text, std::size_t width);

// `text` in at most `width` cells, its end replaced by an ellipsis if need be.
std::string beginning_of(std::string_view text, std::size_t width);
// `text` with spaces before it, or behind it, that make it `width` cells; unchanged if it has more.
std::string right_aligned(std::string_view text, std::size_t width);
std::string left_aligned(std::string_view text, std::size_t width);

// Words of `text` in lines of at most `width` cells, each with its newline; those after the first begin with `indent`.
std::string wrapped(std::string_view text, std::size_t width, std::string_view indent = {});

std::string with_thousands(std::uint64_t value);  // 1,234,567
std::string bytes_text(std::uint64_t bytes);      // 12.31 GB, of 10^9 bytes

}  // namespace prof
