// SPDX-License-Identifier: Apache-2.0
// Classes of characters, independent of the process's locale. Pure functions.
#pragma once

namespace prof {

constexpr bool is_digit(char c) noexcept { return c >= '0' && c <= '9'; }

}  // namespace prof
