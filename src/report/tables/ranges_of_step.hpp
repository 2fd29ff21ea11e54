// SPDX-License-Identifier: Apache-2.0
// The table of ranges of one step, and how the recording divides, for people. docs/reference/attribution.md defines the
// columns. Pure functions of a timeline.
#pragma once

#include <string>

#include "report/mean_step.hpp"
#include "report/projected_timeline.hpp"
#include "report/report_document.hpp"

namespace prof {

// Ranges with their time and work in the mean step, and beside them start-up, warm-up, the steps, what lies between
// them and the end, each with its GPU work: all of it stands in one of these rows.
report_part ranges_of_step(const mean_step& of, const projected_timeline& shown, const report_input& input,
                           std::string if_none);

}  // namespace prof
