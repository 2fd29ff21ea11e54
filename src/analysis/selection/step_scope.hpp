// SPDX-License-Identifier: Apache-2.0
// What reports on steps are of: all of a capture, or the steps and times that somebody chose.
#pragma once

#include <optional>

#include "analysis/attribution/attribution.hpp"
#include "analysis/selection/time_spans.hpp"
#include "analysis/steps/whole_steps.hpp"
#include "timeline/timeline.hpp"

namespace prof {

struct step_scope {
    time_spans times{};                  // empty: all
    std::optional<whole_steps> steps{};  // the whole steps among those chosen; not set: all, without the warm-up
};

// The steps that count in every report on this part of the capture. `has_step_function`: as for find_whole_steps.
inline whole_steps steps_that_count(const timeline& data, const attribution& att, bool has_step_function,
                                    const step_scope& of) {
    return of.steps ? *of.steps : steps_that_count(data, att, has_step_function);
}

}  // namespace prof
