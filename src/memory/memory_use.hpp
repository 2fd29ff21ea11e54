// SPDX-License-Identifier: Apache-2.0
// What a block of memory is for, by when it was born and when it came back: docs/guide/memory.md has the rules. A guess
// where a program does otherwise than training loops do. Pure.
#pragma once

#include <cstdint>
#include <string_view>

#include "memory/birth_places.hpp"

namespace prof {

enum class memory_use : std::uint8_t {
    parameters,
    gradients,
    optimizer_state,
    activations,
    workspace,
    other,
    before_recording,
    lost,
};
inline constexpr std::size_t memory_use_count = 8;
std::string_view to_string(memory_use use) noexcept;

// Of a block's birth or end: the step, from 0, and what the program did in it. -1: before the first step; without steps
// 0.
struct life_moment {
    std::int64_t step = 0;
    phase_role role = phase_role::other;
};

struct block_life_facts {
    life_moment birth{};
    life_moment end{};
    bool has_ended = false;      // else it was alive when the recording ended
    bool was_last_step = false;  // it was born in the recording's last step, or later
    bool grows = false;          // blocks of its place stay alive, step after step
};
memory_use use_of(const block_life_facts& of) noexcept;

}  // namespace prof
