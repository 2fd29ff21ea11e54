// SPDX-License-Identifier: Apache-2.0
// Makes C++ names from symbols. Reason for an own demangler: the C library's refuses symbols beyond a kilobyte, which
// kernels of templates usually exceed, and runs without bounds on others. Time and memory of this one are bounded.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace prof {

struct demangled_name {
    std::string full;  // "void ns::gemm<float, 4>(float*)", as c++filt prints it
    std::string base;  // "gemm"
};

// Nothing if the symbol is not a C++ name, is longer than 256 KB, or its name would exceed 1 MB or 64 times its length
// plus 4 KB. A pure function; any thread.
std::optional<demangled_name> demangle(std::string_view symbol);

}  // namespace prof
