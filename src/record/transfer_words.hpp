// SPDX-License-Identifier: Apache-2.0
// The words by which PyTorch's profiler names transfers: "Memcpy HtoD (Pageable -> Device)", "Memset (Device)".
// Constant.
#pragma once

#include <array>
#include <string_view>

namespace prof {

// By CUpti_ActivityMemcpyKind and CUpti_ActivityMemoryKind.
inline constexpr std::array<std::string_view, 11> copy_directions = {"Unknown", "HtoD", "DtoH", "HtoA", "AtoH", "AtoA",
                                                                     "AtoD",    "DtoA", "DtoD", "HtoH", "PtoP"};
inline constexpr std::array<std::string_view, 8> memory_kinds = {
    "Unknown", "Pageable", "Pinned", "Device", "Array", "Managed", "Device Static", "Managed Static"};

}  // namespace prof
