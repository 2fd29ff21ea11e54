// SPDX-License-Identifier: Apache-2.0
// How a recording divides into start-up, warm-up, steps and the rest. A pure function of a timeline.
#pragma once

#include <cstdint>
#include <string_view>

#include "analysis/attribution/attribution.hpp"
#include "analysis/selection/step_scope.hpp"
#include "timeline/timeline.hpp"

namespace prof {

// How a recording divides: the parts add up to recorded_ns.
struct run_parts {
    std::int64_t recorded_ns = 0;
    std::int64_t startup_ns = 0;  // before the first step
    std::int64_t warm_up_ns = 0;  // in the first steps, which do not count
    std::int64_t steps_ns = 0;    // in the steps that count
    std::int64_t between_ns = 0;  // between steps of either kind, in recorded windows
    std::int64_t end_ns = 0;      // after the last step
    std::uint64_t warm_up = 0;    // steps left out
    std::uint64_t steps = 0;
    std::uint64_t windows = 0;
};

// Of the steps and the recorded times that make_step_table() is of. Steps lie where they are in time
// (whole_step::from_ns). Without steps all of it is before the first one.
run_parts make_run_parts(const timeline& data, const attribution& att, std::string_view step_function = {},
                         const step_scope& scope = {});

}  // namespace prof
