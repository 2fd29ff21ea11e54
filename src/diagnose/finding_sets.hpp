// SPDX-License-Identifier: Apache-2.0
// Which sets of findings have a price of their own (diagnosis::sets): what several changes would gain together is not
// the sum of what each would. Pure functions.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "diagnose/finding.hpp"

namespace prof {

// The bit of the finding with this index in a set; 0: it is in none, since there are too many.
std::uint32_t set_bit_of(std::size_t index) noexcept;

// Of up to six findings all sets; else each alone, pairs of those that people read first, and the first ones up to
// each. As bits, in ascending order. `whole`: has the steps by which findings are ordered (sort_findings).
std::vector<std::uint32_t> sets_to_price(std::span<const finding> findings, const diagnosis& whole);

}  // namespace prof
