// SPDX-License-Identifier: Apache-2.0
// The steps that a diagnosis looks at, and what the host and the GPU did in them. One thread.
#pragma once

#include <string_view>

#include "analysis/attribution/attribution.hpp"
#include "analysis/breakdown/code_places.hpp"
#include "analysis/breakdown/host_activity.hpp"
#include "analysis/breakdown/launching_places.hpp"
#include "analysis/steps/whole_steps.hpp"
#include "diagnose/replay/dependencies.hpp"
#include "timeline/timeline.hpp"

namespace prof {

struct examined_steps {
    // The first two arguments must outlive it. `step_function`, and `given` if it is not null: as diagnosis_options.
    examined_steps(const timeline& data, const attribution& att, std::string_view step_function,
                   const whole_steps* given = nullptr)
        : steps(given != nullptr ? *given : steps_that_count(data, att, !step_function.empty())),
          host(data, att),
          where(data, att, steps),
          graph(data, att, steps),
          launching(data, att, host, where, steps.steps) {}
    examined_steps(const examined_steps&) = delete;
    examined_steps& operator=(const examined_steps&) = delete;

    whole_steps steps;
    host_activity host;
    code_places where;
    dependency_graph graph;
    launching_places launching;
};

}  // namespace prof
