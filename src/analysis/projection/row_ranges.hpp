// SPDX-License-Identifier: Apache-2.0
// The ranges that are instances of the projection's rows. Pure functions, linear in the ranges.
#pragma once

#include <cstdint>
#include <vector>

#include "analysis/attribution/attribution.hpp"
#include "analysis/projection/row_tree.hpp"
#include "timeline/timeline.hpp"

namespace prof {

// The range itself, or the one around it whose row it shares; an owner_ constant or npos where there is none. `range`:
// likewise.
std::uint32_t range_with_row(const attribution& att, const row_tree& tree, std::uint32_t range) noexcept;

// By range: how long ranges directly inside, on its own thread, were open.
std::vector<std::int64_t> host_time_inside(const timeline& data, const row_tree& tree);

}  // namespace prof
