// SPDX-License-Identifier: Apache-2.0
// Asks `llvm-symbolizer` or `addr2line` for the lines of addresses. Any thread.
#pragma once

#include <chrono>
#include <vector>

#include "symbols/code_address.hpp"

namespace prof {

inline constexpr std::chrono::seconds longest_lookup{20};

// As places_of(). Of addresses for which there was no answer in time, and without such a program, none.
std::vector<std::vector<code_place>> ask_symbolizer(const std::vector<code_address>& addresses);

}  // namespace prof
