// SPDX-License-Identifier: Apache-2.0
#include "symbols/demangle.hpp"

#include "symbols/parser.hpp"

namespace prof {

std::optional<demangled_name> demangle(std::string_view symbol) {
    constexpr std::size_t longest_symbol = 256U << 10;
    // Types are mangled without _Z ("i" is int), so the name of a C function could be mistaken for a type.
    if (!symbol.starts_with("_Z") || symbol.size() > longest_symbol) return std::nullopt;
    try {
        symbol_tree nodes;
        const symbol_node* const root = symbol_parser{symbol, nodes}.parse();
        return demangled_name{print_symbol(*root, symbol.size()),
                              print_symbol(*symbol_parser::base_name(root), symbol.size())};
    } catch (const symbol_not_understood&) {
        return std::nullopt;
    }
}

}  // namespace prof
