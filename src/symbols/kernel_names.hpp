// SPDX-License-Identifier: Apache-2.0
// How kernels are called in reports: as C++ wrote them, by their function's name alone, or by their symbol.
// Pure functions.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace prof {

enum class kernel_name_style : std::uint8_t {
    full,        // "void gemm<float, 4>(float*)"
    short_form,  // "gemm": no scope, template arguments, parameters or return type
    mangled,     // "_Z4gemmIfLi4EEvPT_"
};

// "full", "short" or "mangled".
std::optional<kernel_name_style> parse_kernel_name_style(std::string_view word) noexcept;

// A symbol that is no C++ name, or one that would take too long (demangle.hpp), stays as it is.
std::string kernel_name(std::string_view symbol, kernel_name_style style);

}  // namespace prof
