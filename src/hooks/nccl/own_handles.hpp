// SPDX-License-Identifier: Apache-2.0
// The handles that libprof gives to NCCL for events: numbers and no addresses, so nothing is allocated, and one that
// NCCL keeps longer than it should does no harm. Pure.
#pragma once

#include <cstdint>

namespace prof::nccl {

enum class handle_kind : std::uint8_t { call = 1, group = 2, copies = 3 };

// No address has these high bits.
inline constexpr std::uintptr_t own_bits = std::uintptr_t{0x50F1} << 48;
inline constexpr std::uintptr_t own_mask = std::uintptr_t{0xFFFF} << 48;

inline void* make_handle(handle_kind kind, std::uint32_t number) noexcept {
    // NOLINTNEXTLINE(performance-no-int-to-ptr): NCCL stores it and gives it back
    return reinterpret_cast<void*>(own_bits | std::uintptr_t{static_cast<std::uint8_t>(kind)} << 32 | number);
}

// Whether libprof gave it to NCCL, and not the chained plugin.
inline bool is_own_handle(const void* handle) noexcept {
    return (reinterpret_cast<std::uintptr_t>(handle) & own_mask) == own_bits;
}

inline bool is_of_kind(const void* handle, handle_kind kind) noexcept {
    return (reinterpret_cast<std::uintptr_t>(handle) >> 32 & 0xFF) == static_cast<std::uint8_t>(kind);
}

// The number of a call or a group, by its handle: libprof's own has it inside. The chained plugin's is an address,
// which is not used twice at the same time.
inline std::uint32_t number_of(const void* handle) noexcept {
    const auto value = reinterpret_cast<std::uintptr_t>(handle);
    if (value == 0 || is_own_handle(handle)) return static_cast<std::uint32_t>(value);
    const auto mixed = static_cast<std::uint32_t>((value * 0x9E37'79B9'7F4A'7C15U) >> 32);
    return mixed == 0 ? 1 : mixed;
}

}  // namespace prof::nccl
