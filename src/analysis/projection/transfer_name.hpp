// SPDX-License-Identifier: Apache-2.0
// The kind of a copy or set: in Kineto's words, its direction, and whether its memory is pageable. Pure functions.
#pragma once

#include <cstdint>
#include <string>

#include "record/gpu_record.hpp"

namespace prof {

// "Memcpy HtoD (Pageable -> Device)", "Memset (Device)"
std::string transfer_name(const transfer_record& transfer);

// other: between GPUs. none: within a GPU, or no copy.
enum class copy_direction : std::uint8_t { none, to_device, to_host, other };
copy_direction direction_of(const transfer_record& copy) noexcept;

// Whether the memory at one of its ends is the host's and not page-locked.
bool is_pageable(const transfer_record& transfer) noexcept;

}  // namespace prof
