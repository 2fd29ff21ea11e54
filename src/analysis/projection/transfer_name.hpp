// SPDX-License-Identifier: Apache-2.0
// The kind of a copy or set in Kineto's words. A pure function.
#pragma once

#include <string>

#include "record/gpu_record.hpp"

namespace prof {

// "Memcpy HtoD (Pageable -> Device)", "Memset (Device)"
std::string transfer_name(const transfer_record& transfer);

}  // namespace prof
