// SPDX-License-Identifier: Apache-2.0
// Where a function keeps its caller's registers, by the tables that compilers write for exceptions (.eh_frame). They
// are right at each instruction of optimised code, with and without a frame pointer. Pure functions of a module's
// memory: nothing is called or allocated.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

namespace prof {

// Of x86-64, as the tables number them.
inline constexpr std::size_t unwound_registers = 17;
inline constexpr std::uint8_t frame_pointer_number = 6;
inline constexpr std::uint8_t stack_pointer_number = 7;
inline constexpr std::uint8_t return_address_number = 16;

// The frame's base is what the stack pointer was before the call, `cfa` in the tables.
struct unwind_rules {
    enum class place : std::uint8_t {
        same,        // it has the caller's value
        lost,        // of the return address: nobody has called
        at_base,     // in memory, at the base + offset
        is_base,     // it was the base + offset
        in_another,  // in the register `offset`
        at_result,   // in memory, at the result of `expression`
        is_result,
    };
    struct rule {
        place where = place::same;
        std::int32_t offset = 0;
        const std::uint8_t* expression = nullptr;  // its length, then its operations
    };
    std::array<rule, unwound_registers> registers{};
    std::int64_t base_offset = 0;
    const std::uint8_t* base_expression = nullptr;  // null: the base is base_register + base_offset
    std::uint8_t base_register = 0;
    bool is_signal_frame = false;  // its caller was interrupted, and did not call
};

// The rules at `instruction`. `header`: the module's .eh_frame_hdr; `module`: its memory, outside of which nothing is
// read. False: the module has none for it, or some that are not understood.
bool find_unwind_rules(const std::byte* header, std::span<const std::byte> module, std::uintptr_t instruction,
                       unwind_rules& out) noexcept;

}  // namespace prof
