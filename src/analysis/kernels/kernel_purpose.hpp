// SPDX-License-Identifier: Apache-2.0
// What a kernel is for, as far as its name and its class say it: a guess that orders a list of kernels for people, and
// on which no figure of a step rests. Pure functions.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "analysis/projection/op_class.hpp"

namespace prof {

enum class kernel_purpose : std::uint8_t {
    matrix,
    attention,
    normalisation,
    elementwise,
    reduction,
    optimizer,
    communication,
    memory,
    other,
};
inline constexpr std::size_t kernel_purposes = static_cast<std::size_t>(kernel_purpose::other) + 1;

std::string_view to_string(kernel_purpose value) noexcept;      // "matrix"
std::string_view shown_purpose(kernel_purpose value) noexcept;  // "matrix products"

// `symbol`: mangled or not.
kernel_purpose purpose_of(std::string_view symbol, op_class kind);

}  // namespace prof
