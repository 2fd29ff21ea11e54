// SPDX-License-Identifier: Apache-2.0
// What a step of the run costs on the GPU, range by range, estimated from the steps that were captured. The rows are
// those of the GPU projection, with adoption. A pure function of a timeline; docs/guide/budget.md describes the method.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "analysis/projection/projection.hpp"
#include "analysis/steps/estimate.hpp"
#include "analysis/steps/whole_steps.hpp"
#include "report/table.hpp"
#include "timeline/timeline.hpp"

namespace prof {

struct step_estimate_row {
    std::string path;
    std::string name;  // last segment, unescaped, as in projection_row
    std::uint32_t depth = 0;
    std::uint32_t parent = npos;  // index into rows: of the nearest range above that has a row
    row_kind kind = row_kind::range;
    bool is_captured = false;
    bool is_observed = false;
    estimate gpu_ns;     // durations of the operations launched inside, a step
    estimate instances;  // of the range that began, a step; a captured one counts once in each launch of its graph
};

struct step_estimate {
    std::uint64_t captured_steps = 0;     // whole steps that count
    std::uint64_t warm_up = 0;            // whole steps left out before them
    std::uint64_t windows = 0;            // that contain whole steps
    std::uint64_t all_steps = 0;          // of the run, as far as it is known; 0: it has none
    bool step_count_is_known = true;      // else there may have been more: the process died
    std::uint64_t stood_for = 0;          // steps from which the windows were chosen at random; 0: they were not
    std::vector<step_estimate_row> rows;  // as projection::rows, rows without any operation and instance left out
    step_estimate_row total;              // all GPU work
    fold_rule fold{};                     // by which the rows were made
};

// The report `steps`.
table steps_table(const step_estimate& of);

// The steps are those of every report (step_scope.hpp). Where windows were chosen at random, they stand for the whole
// run, so that all their whole steps count, warm-up too. `chosen`: of a part of a capture, the steps in it that count.
step_estimate estimate_steps(const timeline& data, const attribution& att, const fold_rule& rule,
                             const whole_steps* chosen = nullptr);

}  // namespace prof
