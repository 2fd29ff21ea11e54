// SPDX-License-Identifier: Apache-2.0
// What a change would gain, in the words of the first screen, which every text about findings has. Pure functions.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "report/report_document.hpp"

namespace prof {

// A path of ranges with the names that rows have: "optimizer/AdamW.step"; of "" "rest of the step". Not escaped.
std::string place_name(std::string_view path);

// "launches in backward, forward and 3 more (rough)", in at most `width` cells, ready for a terminal: marks and names
// of places give way to what the gain is of.
std::string gain_text(const priced_change& gain, std::size_t width);

}  // namespace prof
