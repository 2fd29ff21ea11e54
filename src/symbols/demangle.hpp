// C++ names from symbols. The C library's demangler refuses symbols beyond a kilobyte, which templates of kernels
// exceed as a rule, and runs without bounds on others; this one takes a time and memory that are bounded.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace prof {

struct demangled_name {
    std::string full;  // "void ns::gemm<float, 4>(float*)", as c++filt has it
    std::string base;  // "gemm"
};

// None if the symbol is no C++ name, is longer than 256 KB, or would come to more than 1 MB or 64 times its
// length and 4 KB. Pure.
std::optional<demangled_name> demangle(std::string_view symbol);

}  // namespace prof
