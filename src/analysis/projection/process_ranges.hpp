// The table of start/end ranges, which belong to the process and to no thread's tree.
#pragma once

#include <vector>

#include "analysis/projection/projection.hpp"

namespace prof {

// Rows by folded name, by first start. An operation counts for an instance if its launch began while that was open,
// and once for the row, however many overlapping instances of it were. Each instance costs two look-ups.
std::vector<projection_row> project_process_ranges(const timeline& data, const hidden_domains& hidden,
                                                   bool fold_digits);

// Sets the row's instance_ columns from its instances' GPU sums.
void set_instance_statistics(projection_row& row, const std::vector<std::int64_t>& sums_ns);

}  // namespace prof
