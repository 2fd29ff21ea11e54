// SPDX-License-Identifier: Apache-2.0
#include "symbols/kernel_names.hpp"

#include "symbols/demangle.hpp"
#include "symbols/short_name.hpp"

namespace prof {

std::string kernel_name(std::string_view symbol, kernel_name_style style) {
    if (symbol.empty()) return "(unnamed)";
    if (style != kernel_name_style::mangled) {
        if (const auto name = demangle(symbol)) return style == kernel_name_style::full ? name->full : name->base;
    }
    // A trace of another tool has C++ names in place of symbols.
    return std::string{style == kernel_name_style::short_form ? short_name(symbol) : symbol};
}

std::optional<kernel_name_style> parse_kernel_name_style(std::string_view word) noexcept {
    if (word == "full") return kernel_name_style::full;
    if (word == "short") return kernel_name_style::short_form;
    if (word == "mangled") return kernel_name_style::mangled;
    return std::nullopt;
}

}  // namespace prof
