// SPDX-License-Identifier: Apache-2.0
// Steps and moments as times of a timeline. Pure functions. They throw nothing_selected, with a line that says what the
// capture has instead.
#pragma once

#include <cstdint>
#include <stdexcept>
#include <string>
#include <vector>

#include "analysis/attribution/attribution.hpp"
#include "analysis/selection/selection_request.hpp"
#include "analysis/selection/time_spans.hpp"
#include "analysis/steps/numbered_steps.hpp"
#include "analysis/steps/whole_steps.hpp"
#include "base/error.hpp"
#include "timeline/timeline.hpp"

namespace prof {

// The capture has nothing of what was asked for.
class nothing_selected : public error {
public:
    using error::error;
};

// The steps of a capture by their numbers in traces: those that number_steps() finds, or the program's own ranges
// ProfilerStep#N; else those that find_recurring_steps() guesses. By start.
std::vector<numbered_step> all_numbered_steps(const timeline& data, const attribution& att);

struct chosen_times {
    time_spans times{};
    std::vector<numbered_step> steps{};  // those that are chosen whole, if steps were asked for
    std::uint64_t all_steps = 0;         // of the capture, if steps were asked for
};

// REQUIRES: request.has_times().
chosen_times choose_times(const timeline& data, const attribution& att, const selection_request& request);

// The whole steps among those that the request chooses: they begin in it, and lie between its moments. Warm-up
// (leave_out_warm_up) is left out unless steps are chosen by number, or nothing else is chosen. `times`: what
// choose_times() returns. `has_step_function`: as for find_whole_steps. REQUIRES: request.has_times().
whole_steps whole_steps_among(const timeline& data, const attribution& att, const selection_request& request,
                              const time_spans& times, bool has_step_function = false);

// The same; throws nothing_selected if there are none.
whole_steps choose_whole_steps(const timeline& data, const attribution& att, const selection_request& request,
                               bool has_step_function = false);

}  // namespace prof
