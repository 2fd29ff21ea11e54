// SPDX-License-Identifier: Apache-2.0
// Reads the names from an arena in the rings' mapping. The arena may be damaged, and its process may still be running.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

namespace prof {

struct recovered_name {
    std::uint32_t id = 0;
    std::uint64_t position = 0;  // of a range name (record/passing_names.hpp)
    std::string_view text;       // points into the arena
};

// Both throw prof::error if most of the arena is damaged.
std::vector<recovered_name> read_kept_names(std::span<const std::byte> arena);
// `end`: the end of the positions given out before the arena was read.
std::vector<recovered_name> read_passing_names(std::span<const std::byte> arena, std::uint64_t end);

}  // namespace prof
