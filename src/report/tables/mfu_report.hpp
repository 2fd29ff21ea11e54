// SPDX-License-Identifier: Apache-2.0
// Throughput and model FLOPs utilisation of a report's input, for the report mfu and for headings. A pure function.
#pragma once

#include "analysis/mfu/mfu.hpp"
#include "report/report_input.hpp"

namespace prof {

mfu_figures mfu_of(const report_input& input);

}  // namespace prof
