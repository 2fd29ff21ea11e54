// SPDX-License-Identifier: Apache-2.0
// The cells of a table as text for people, in any format. Pure functions.
#pragma once

#include <cstdint>
#include <string>

#include "export/report/text_table.hpp"
#include "report/table.hpp"

namespace prof {

bool has_times(const table& of) noexcept;
// The time that the unit is chosen for, and the unit of all times of the table.
std::int64_t largest_time(const table& of);
time_unit unit_of(const table& of);

// The result is terminal_safe (base/json_text.hpp), and not yet escaped for any other format.
std::string cell_text(const table_column& column, const table_cell& cell, const time_unit& unit);

}  // namespace prof
