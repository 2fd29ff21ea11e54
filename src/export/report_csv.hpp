// Reports as CSV (RFC 4180: CRLF, quotes where need be) with a header line. Times in ns, names byte for byte.
// Pure functions.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "analysis/kernels.hpp"
#include "analysis/projection.hpp"
#include "analysis/pytorch_ops.hpp"

namespace prof {

// One capture's part of a table: `capture` (its path) is the first column of each line.
std::string projection_csv_header();
std::string projection_csv(std::string_view capture, const projection& projected);
std::string kernels_csv_header();
std::string kernels_csv(std::string_view capture, const std::vector<kernel_row>& rows);
std::string pytorch_ops_csv_header();
std::string pytorch_ops_csv(std::string_view capture, const pytorch_table& table);
std::string transfers_csv_header();
std::string transfers_csv(std::string_view capture, const std::vector<transfer_row>& rows);

}  // namespace prof
