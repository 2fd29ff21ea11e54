// The cells of a table as people read them, whatever the format. Pure functions.
#pragma once

#include <string>

#include "analysis/reports/table.hpp"
#include "export/report/text_table.hpp"

namespace prof {

bool has_times(const table& of) noexcept;
// In which all times of the table are shown.
time_unit unit_of(const table& of);

// Text in it is terminal_safe (base/json_text.hpp), and not yet escaped for any other format.
std::string cell_text(const table_column& column, const table_cell& cell, const time_unit& unit);

}  // namespace prof
