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

}  // namespace prof
