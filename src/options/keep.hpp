// SPDX-License-Identifier: Apache-2.0
// The option `keep`: how much of a recording its capture holds at most (docs/guide/flight-recorder.md).
#pragma once

#include <string_view>

#include "record/keep_limits.hpp"

namespace prof {

inline constexpr const char* accepted_keep =
    "a time from 1s to 168h (60s, 10m, 2h), a size from 8M to 1T (500M, 500MB), or both with a comma between";

// False if it is neither; then `out` may be anything.
bool parse_keep(std::string_view text, keep_limits& out);

}  // namespace prof
