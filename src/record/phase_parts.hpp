// SPDX-License-Identifier: Apache-2.0
// Phases that are recorded in parts.
#pragma once

#include <cstdint>

namespace prof {

// The category of a phase "optimizer" that goes on with the step of an optimizer, after what its closure has called.
inline constexpr std::uint32_t continues = 1;

}  // namespace prof
