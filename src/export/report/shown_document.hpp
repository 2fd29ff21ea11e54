// SPDX-License-Identifier: Apache-2.0
// A report document as people are shown it: long tables with the rows that matter most, and of all reports those that
// have rows. Pure functions.
#pragma once

#include <string>

#include "export/report/text_table.hpp"
#include "report/report_document.hpp"

namespace prof {

// Tables keep the rows within the limits (table::shorten), and have none that could be shortened again.
report_document shown_document(const report_document& document, const shown_limits& limits);

// Whether people see anything of the table: it has columns for them, and rows or a sentence in their place.
bool is_shown(const table& made) noexcept;
// Whether people see rows, and not a sentence in their place.
bool has_rows(const table& made) noexcept;
// "GPU time by kernel, in ms": with the unit that the times are shown in. Not yet escaped.
std::string table_heading(const table& made, const time_unit& unit);

}  // namespace prof
