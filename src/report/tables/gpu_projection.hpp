// SPDX-License-Identifier: Apache-2.0
// The report gpu-projection: GPU time by range, with what other threads launched for it, and what a step takes.
// docs/reference/attribution.md defines every column. A pure function of a timeline.
#pragma once

#include <optional>
#include <string>

#include "analysis/projection/projection.hpp"
#include "analysis/steps/step_figures.hpp"
#include "report/projected_timeline.hpp"
#include "report/report_document.hpp"

namespace prof {

report_part gpu_projection_part(const projected_timeline& shown, const report_input& input);

// From a finished projection. `if_none`: the sentence in the place of ranges where there are none.
report_part gpu_projection_part(projection projected, std::optional<step_figures> step,
                                std::string if_none = "no range was recorded");

}  // namespace prof
