// SPDX-License-Identifier: Apache-2.0
// The short form of a function's name that is not a symbol, because another tool has made a C++ name of it:
// "void ns::gemm<float, 4>(float*)" → "gemm", as demangled_name::base of its symbol. A pure function; linear.
#pragma once

#include <string_view>

namespace prof {

// A part of `full`; all of it if it does not look like C++.
std::string_view short_name(std::string_view full) noexcept;

}  // namespace prof
