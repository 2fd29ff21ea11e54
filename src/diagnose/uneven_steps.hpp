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
#include "diagnose/finding.hpp"
#include "diagnose/host_parts.hpp"
#include "timeline/timeline.hpp"

namespace prof {

inline constexpr std::string_view uneven_steps_name = "uneven_steps";
inline constexpr std::size_t least_uneven_steps = 5;  // of fewer, none is unusual
inline constexpr double uneven_factor = 1.1;          // longest_usual()'s

// The price: as if steps that are longer than the others (longest_usual) were as long as the median. Nothing if there
// are none, or if `found` has findings that occur in no more steps than that and gain at least half of the price.
// The parts say what has grown in these steps (step_breakdown::slow).
std::optional<finding> find_uneven_steps(const timeline& data, const attribution& att, const whole_steps& steps,
                                         const std::vector<finding>& found);

// The same of a program without GPU work: the parts say what the thread with the steps did longer.
std::optional<finding> find_uneven_steps(host_parts& parts, const whole_steps& steps,
                                         const std::vector<finding>& found);

// The same without the steps' causes and places: of their lengths alone.
std::optional<finding> price_uneven_steps(const std::vector<std::int64_t>& lengths_ns,
                                          const std::vector<finding>& found);

}  // namespace prof
