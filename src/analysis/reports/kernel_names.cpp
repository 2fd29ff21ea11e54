#include "analysis/reports/kernel_names.hpp"

#include "symbols/demangle.hpp"

namespace prof {

std::string kernel_name(std::string_view symbol, kernel_name_style style) {
    if (symbol.empty()) return "(unnamed)";
    if (style != kernel_name_style::mangled) {
        if (const auto name = demangle(symbol)) return style == kernel_name_style::full ? name->full : name->base;
    }
    return std::string{symbol};
}

}  // namespace prof
