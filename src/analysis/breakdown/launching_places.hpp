// SPDX-License-Identifier: Apache-2.0
// Where the host launches: places with many short stretches of code between calls, rather than few long ones. Such a
// stretch is what launching costs there (Python between two operators). The one definition of it: idle time is divided
// by it, and prices are made by it. A pure function of a timeline; linear in its calls, with a search for each stretch.
#pragma once

#include <cstdint>
#include <vector>

#include "analysis/attribution/attribution.hpp"
#include "analysis/breakdown/code_places.hpp"
#include "analysis/breakdown/host_activity.hpp"
#include "analysis/steps/whole_steps.hpp"
#include "timeline/timeline.hpp"

namespace prof {

inline constexpr std::uint64_t least_scattered = 5;    // stretches in a step
inline constexpr std::int64_t scattered_ns = 300'000;  // their mean length, at most
// A longer one is no part of launching, wherever it is: it holds the program up.
inline constexpr std::int64_t longest_scattered_ns = 1'000'000;

class launching_places {
public:
    // Looks at stretches of more than launch_bound_ns in these steps, from one call to the next of a thread and of
    // those that work for it. Where there are no steps, each window is one. Nothing is kept of the arguments.
    launching_places(const timeline& data, const attribution& att, const host_activity& host, code_places& where,
                     const std::vector<whole_step>& steps);

    // `place`: a number of `where`.
    bool contains(code_place_id place) const noexcept { return place < is_launching_.size() && is_launching_[place]; }

private:
    std::vector<bool> is_launching_;  // by place
};

}  // namespace prof
