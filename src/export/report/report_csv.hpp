// SPDX-License-Identifier: Apache-2.0
// Reports as CSV (RFC 4180: CRLF, quotes where need be) with a header line. Times in ns, names byte for byte.
// Pure functions.
#pragma once

#include <string>
#include <string_view>

#include "report/table.hpp"

namespace prof {

// One capture's lines of a table. `capture` (its path) is the first column of each line, if wanted.
std::string table_csv_header(const table& of, bool with_capture);
std::string table_csv(std::string_view capture, const table& of, bool with_capture);

}  // namespace prof
