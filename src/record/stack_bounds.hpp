// SPDX-License-Identifier: Apache-2.0
// From when on calls and blocks have their stacks recorded (stack_role): live, and of traces that are read.
#pragma once

#include <cstdint>

namespace prof {

inline constexpr std::int64_t stack_of_call_ns = 20'000;       // a call that took longer, but for launches
inline constexpr std::int64_t stack_before_call_ns = 100'000;  // one before which other code ran for longer
inline constexpr std::uint64_t stack_of_block_bytes = std::uint64_t{1} << 20;  // smaller blocks come after these

}  // namespace prof
