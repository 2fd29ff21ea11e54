// The names that stand in an arena of the rings' mapping, which may be damaged, and may be that of a live process.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

namespace prof {

struct recovered_name {
    std::uint32_t id = 0;
    std::uint64_t position = 0;  // of a range's name (record/passing_names.hpp)
    std::string_view text;       // in the arena
};

// Throw prof::error where most of it is damaged.
std::vector<recovered_name> read_kept_names(std::span<const std::byte> arena);
// `end`: of the positions given out before the arena was read.
std::vector<recovered_name> read_passing_names(std::span<const std::byte> arena, std::uint64_t end);

}  // namespace prof
