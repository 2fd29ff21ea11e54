// SPDX-License-Identifier: Apache-2.0
// The kind of a copy or set: in Kineto's words, and whether its memory is pageable. Pure functions.
#pragma once

#include <string>

#include "record/gpu_record.hpp"

namespace prof {

// "Memcpy HtoD (Pageable -> Device)", "Memset (Device)"
std::string transfer_name(const transfer_record& transfer);

// Whether the memory at one of its ends is the host's and not page-locked.
bool is_pageable(const transfer_record& transfer) noexcept;

}  // namespace prof
