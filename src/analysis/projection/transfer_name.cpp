// SPDX-License-Identifier: Apache-2.0
#include "analysis/projection/transfer_name.hpp"

#include <array>
#include <cstddef>
#include <string_view>

#include "record/transfer_words.hpp"

namespace prof {
namespace {

template <std::size_t size>
std::string word(const std::array<std::string_view, size>& words, std::size_t index) {
    return std::string{index < size ? words[index] : words[0]};
}

}  // namespace

std::string transfer_name(const transfer_record& transfer) {
    const std::string to = word(memory_kinds, transfer.destination_kind);
    if (transfer.kind == transfer_kind::memset) return "Memset (" + to + ")";
    return "Memcpy " + word(copy_directions, transfer.copy_kind) + " (" + word(memory_kinds, transfer.source_kind) +
           " -> " + to + ")";
}

bool is_pageable(const transfer_record& transfer) noexcept {
    constexpr std::uint8_t pageable = 1;  // CUPTI_ACTIVITY_MEMORY_KIND_PAGEABLE
    return transfer.source_kind == pageable || transfer.destination_kind == pageable;
}

copy_direction direction_of(const transfer_record& copy) noexcept {
    constexpr std::uint8_t host_to_device = 1;  // CUpti_ActivityMemcpyKind
    constexpr std::uint8_t device_to_host = 2;
    constexpr std::uint8_t peer_to_peer = 10;
    if (copy.kind == transfer_kind::memset) return copy_direction::none;
    if (copy.kind == transfer_kind::memcpy_peer || copy.copy_kind == peer_to_peer) return copy_direction::other;
    if (copy.copy_kind == host_to_device) return copy_direction::to_device;
    return copy.copy_kind == device_to_host ? copy_direction::to_host : copy_direction::none;
}

}  // namespace prof
