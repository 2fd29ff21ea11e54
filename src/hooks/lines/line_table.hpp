// SPDX-License-Identifier: Apache-2.0
// The line of an instruction, from the line table of a Python code object. Pure: reads the given bytes and nothing
// else, and never beyond them, whatever they are.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace prof {

enum class line_table_format : std::uint8_t {
    pairs,      // Python 3.10: pairs of a length in bytes and a difference of lines
    locations,  // Python 3.11 to 3.14: entries of variable length, with columns
};

// `unit`: the number of the instruction, in units of two bytes of code. 0: no line is known for it. Linear in the part
// of the table before it.
std::uint32_t line_of_instruction(line_table_format format, std::span<const std::uint8_t> table,
                                  std::int32_t first_line, std::int32_t unit) noexcept;

}  // namespace prof
