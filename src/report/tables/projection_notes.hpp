// SPDX-License-Identifier: Apache-2.0
// Notes about the rows of a GPU projection: rows that are left out, rows that stand for several things, work that has
// no range. Pure functions.
#pragma once

#include <string>
#include <vector>

#include "analysis/projection/projection.hpp"
#include "analysis/projection/row_fold.hpp"

namespace prof {

// One line each; names in them are terminal_safe. `shown`: the rows of both tables that are shown.
std::vector<std::string> projection_notes(const projection& projected, const std::vector<shown_row>& shown);

}  // namespace prof
