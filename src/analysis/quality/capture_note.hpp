// SPDX-License-Identifier: Apache-2.0
// A line about a capture. Plain data.
#pragma once

#include <cstdint>
#include <string>

namespace prof {

// Where a line about a capture stands.
enum class note_weight : std::uint8_t {
    warning,  // above the tables: what the numbers lack, or may have wrong, and what to do
    heading,  // above the tables: what was recorded, and how it ended
    detail,   // below them
};

struct capture_note {
    note_weight weight = note_weight::detail;
    std::string text{};
};

}  // namespace prof
