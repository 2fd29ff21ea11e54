// SPDX-License-Identifier: Apache-2.0
// Steps that are longer than the others, if the findings of the rules do not explain them. A pure function; linear in
// the timeline where there are such steps.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "analysis/attribution/attribution.hpp"
#include "analysis/steps/whole_steps.hpp"
#include "diagnose/diagnosis.hpp"
#include "diagnose/replay/dependencies.hpp"
#include "timeline/timeline.hpp"

namespace prof {

inline constexpr std::string_view uneven_steps_name = "uneven_steps";
inline constexpr std::size_t least_uneven_steps = 5;  // of fewer, none is unusual
inline constexpr double uneven_factor = 1.1;          // longest_usual()'s

// Of each step, by how much later it was complete, on the host and on the GPU, than the one before it: what a GPU hides
// that still has work is no time of the step. `replayed_steps_ns`: of replayed_ns() without a change. Of a window's
// first step, which also completes what was launched before, no more than its length on the host.
std::vector<std::int64_t> times_to_complete(const dependency_graph& graph,
                                            const std::vector<std::int64_t>& replayed_steps_ns);

// About the same from the lengths on the host alone: where steps are shorter than usual after one that is longer,
// because the host catches up with the GPU, the longer one has lost so much less.
std::vector<std::int64_t> less_catching_up(std::vector<std::int64_t> lengths_ns);

// The price: as if steps that are longer than the others (longest_usual) were as long as the median. Nothing if there
// are none, or if `found` has findings that occur in no more steps than that and gain at least half of the price.
// `lengths_ns`: of `steps`. The parts say what has grown in these steps (step_breakdown::slow).
std::optional<finding> find_uneven_steps(const timeline& data, const attribution& att, const whole_steps& steps,
                                         const std::vector<std::int64_t>& lengths_ns,
                                         const std::vector<finding>& found);

// The same without the steps' causes and places: of their lengths alone.
std::optional<finding> price_uneven_steps(const std::vector<std::int64_t>& lengths_ns,
                                          const std::vector<finding>& found);

}  // namespace prof
