// SPDX-License-Identifier: Apache-2.0
// The table of start/end ranges, which belong to the process and not to any thread's tree.
#pragma once

#include <vector>

#include "analysis/projection/projection.hpp"

namespace prof {

// One row for each name, folded by the rule, ordered by first start. fold_mode::counters keeps different things apart
// among the instances of one folded name (merged_names.hpp). An operation counts for an instance if its launch began
// while the instance was open. It counts once for the row, even if instances overlap. Each instance costs two look-ups.
std::vector<projection_row> project_process_ranges(const timeline& data, const hidden_domains& hidden,
                                                   const fold_rule& rule);

// Sets the row's instance_ columns from the GPU sums of its instances.
void set_instance_statistics(projection_row& row, const std::vector<std::int64_t>& sums_ns);
// Sets host_min_ns, host_median_ns and host_max_ns from the host durations of its instances.
void set_host_statistics(projection_row& row, const std::vector<std::int64_t>& durations_ns);

}  // namespace prof
