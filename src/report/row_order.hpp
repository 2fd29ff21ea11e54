// SPDX-License-Identifier: Apache-2.0
// The order and the number of rows of a report that is a list. Pure functions.
#pragma once

#include <cstddef>
#include <string_view>

#include "base/error.hpp"
#include "report/table.hpp"

namespace prof {

// Rows were to be in an order that they cannot have.
class impossible_order : public error {
public:
    using error::error;
};

// Sorts the rows by a column: numbers from the largest, texts from the first letter; equal rows keep their order.
// `column` is its key or title; case, blanks and punctuation do not matter. Throws impossible_order, which names the
// columns that there are, if none is meant.
void sort_rows(table& of, std::string_view column);

// Leaves the first `most` rows. A note has the number of the others; sums still count them.
void limit_rows(table& of, std::size_t most);

}  // namespace prof
