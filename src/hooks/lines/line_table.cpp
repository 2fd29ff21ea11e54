// SPDX-License-Identifier: Apache-2.0
#include "hooks/lines/line_table.hpp"

namespace prof {
namespace {

constexpr std::uint32_t shown(std::int64_t line) noexcept {
    return line > 0 && line <= INT32_MAX ? static_cast<std::uint32_t>(line) : 0;
}

std::uint32_t line_in_pairs(std::span<const std::uint8_t> table, std::int64_t line, std::int64_t offset) noexcept {
    constexpr std::int8_t no_line = -128;
    std::int64_t end = 0;
    for (std::size_t i = 0; i + 1 < table.size(); i += 2) {
        const auto difference = static_cast<std::int8_t>(table[i + 1]);
        end += table[i];
        if (difference != no_line) line += difference;
        if (offset < end) return difference == no_line ? 0 : shown(line);
    }
    return 0;
}

constexpr std::uint8_t begins_entry = 0x80;

// The number that begins at `place`, six bits a byte. It ends before the next entry.
std::uint32_t number_at(std::span<const std::uint8_t> table, std::size_t place) noexcept {
    std::uint32_t number = 0;
    for (std::uint32_t shift = 0; place < table.size() && shift < 32; ++place, shift += 6) {
        if ((table[place] & begins_entry) != 0) break;
        number |= static_cast<std::uint32_t>(table[place] & 0x3F) << shift;
        if ((table[place] & 0x40) == 0) break;
    }
    return number;
}

std::uint32_t line_in_locations(std::span<const std::uint8_t> table, std::int64_t line, std::int64_t unit) noexcept {
    constexpr std::uint32_t first_one_line = 10, last_one_line = 12, no_columns = 13, long_form = 14, no_location = 15;
    std::int64_t end = 0;
    std::size_t place = 0;
    while (place < table.size()) {
        const std::uint32_t head = table[place];
        if ((head & begins_entry) == 0) return 0;  // it is no line table
        const std::uint32_t form = (head >> 3) & 15U;
        if (form >= first_one_line && form <= last_one_line) {
            line += form - first_one_line;
        } else if (form == no_columns || form == long_form) {
            const std::uint32_t number = number_at(table, place + 1);
            const auto size = static_cast<std::int64_t>(number >> 1);
            line += (number & 1U) != 0 ? -size : size;
        }
        end += (head & 7U) + 1;
        if (unit < end) return form == no_location ? 0 : shown(line);
        do ++place;
        while (place < table.size() && (table[place] & begins_entry) == 0);
    }
    return 0;
}

}  // namespace

std::uint32_t line_of_instruction(line_table_format format, std::span<const std::uint8_t> table,
                                  std::int32_t first_line, std::int32_t unit) noexcept {
    if (unit < 0) return shown(first_line);  // it has not begun
    return format == line_table_format::pairs ? line_in_pairs(table, first_line, std::int64_t{2} * unit)
                                              : line_in_locations(table, first_line, unit);
}

}  // namespace prof
