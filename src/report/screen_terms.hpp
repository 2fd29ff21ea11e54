// SPDX-License-Identifier: Apache-2.0
// The words of the first screen and what they mean: `prof help terms` prints them.
#pragma once

#include <span>
#include <string_view>

namespace prof {

struct screen_term {
    std::string_view word;
    std::string_view meaning;  // sentences
};

// In the order in which a screen has them.
std::span<const screen_term> screen_terms() noexcept;

}  // namespace prof
