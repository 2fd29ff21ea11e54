// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <prof/prof.h>

#include "base/outcome.hpp"

namespace prof {

// What a function of the C interface returns for an outcome.
prof_result code_of(const outcome& result) noexcept;

}  // namespace prof
