// SPDX-License-Identifier: Apache-2.0
// Small numbers as Parquet's hybrid of run lengths and packed bits has them: definition levels, and indices into a
// dictionary. A pure function, linear in the values.
#pragma once

#include <cstdint>
#include <span>
#include <string>

namespace prof {

// The bits that `largest` needs; at least one, since some readers know no width of zero.
unsigned bit_width_of(std::uint32_t largest) noexcept;

// REQUIRES: `width` is from 1 to 32, and no value needs more bits.
void append_hybrid(std::string& out, std::span<const std::uint32_t> values, unsigned width);

}  // namespace prof
