// SPDX-License-Identifier: Apache-2.0
// Makes the table of a step. A pure function of a timeline.
#pragma once

#include <string_view>

#include "analysis/attribution/attribution.hpp"
#include "analysis/breakdown/idle_causes.hpp"
#include "analysis/selection/step_scope.hpp"
#include "analysis/step_table/step_cells.hpp"
#include "analysis/step_table/step_table.hpp"
#include "record/fold_rule.hpp"
#include "timeline/timeline.hpp"

namespace prof {

// The column in which idle time of this cause stands.
step_column column_of_cause(idle_cause cause) noexcept;

// `step_function` and `scope` as for break_down(). `original`: the timeline before it had phases of XLA
// (shown_timeline), where `data` has them; null: `data`. `folds`: as the names of ranges are folded elsewhere. There is
// no row without steps, and without times that were recorded. Linear in the ranges, calls and operations; memory beside
// the timeline's is linear in its ranges and calls. `cells` gets the same times step by step; null: nobody needs them.
step_table make_step_table(const timeline& data, const attribution& att, std::string_view step_function = {},
                           const step_scope& scope = {}, const timeline* original = nullptr,
                           const fold_rule& folds = {}, step_cells* cells = nullptr);

}  // namespace prof
