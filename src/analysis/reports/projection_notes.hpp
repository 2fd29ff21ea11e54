// What a reader of a GPU projection should know about its rows: which are left out, which stand for several things,
// which work has no range. Pure functions.
#pragma once

#include <string>
#include <vector>

#include "analysis/projection/projection.hpp"
#include "analysis/projection/row_fold.hpp"

namespace prof {

// A line each; names in them are terminal_safe. `shown`: the rows of both tables that the reader has.
std::vector<std::string> projection_notes(const projection& projected, const std::vector<shown_row>& shown);

}  // namespace prof
