// SPDX-License-Identifier: Apache-2.0
#include <array>

#include "base/ascii.hpp"
#include "symbols/parser.hpp"

namespace prof {
namespace {

struct builtin {
    char code;
    std::string_view text;
};
constexpr auto builtins = std::to_array<builtin>({{'a', "signed char"}, {'b', "bool"},
                                                  {'c', "char"},        {'d', "double"},
                                                  {'e', "long double"}, {'f', "float"},
                                                  {'g', "__float128"},  {'h', "unsigned char"},
                                                  {'i', "int"},         {'j', "unsigned int"},
                                                  {'l', "long"},        {'m', "unsigned long"},
                                                  {'n', "__int128"},    {'o', "unsigned __int128"},
                                                  {'s', "short"},       {'t', "unsigned short"},
                                                  {'v', "void"},        {'w', "wchar_t"},
                                                  {'x', "long long"},   {'y', "unsigned long long"},
                                                  {'z', "..."}});

}  // namespace

const symbol_node* symbol_parser::type() {
    const symbol_nesting deeper{depth_};
    bool is_new = true;
    const symbol_node* const out = unsubstituted_type(is_new);
    return is_new ? remembered(out) : out;
}

// `is_new`: a later part of the symbol may refer back to the type.
const symbol_node* symbol_parser::unsubstituted_type(bool& is_new) {
    for (const builtin& known : builtins) {
        if (!take(known.code)) continue;
        is_new = false;
        return nodes_.text(known.text);
    }
    switch (peek()) {
        case 'r':
        case 'V':
        case 'K': {
            std::string text = qualifiers();
            const symbol_node* const suffixed = type();
            return nodes_.add({symbol_node_kind::suffixed, nodes_.keep(std::move(text)), suffixed});
        }
        case 'P':
            return reference_to("*");
        case 'R':
            return reference_to("&");
        case 'O':
            return reference_to("&&");
        case 'C':
        case 'G': {
            const std::string_view suffix = take('C') ? " _Complex" : (expect('G'), " _Imaginary");
            return nodes_.add({symbol_node_kind::suffixed, suffix, type()});
        }
        case 'F':
            return function_type();
        case 'A':
            return array_type();
        case 'M': {
            take('M');
            const symbol_node* const of_class = type();
            return nodes_.add({symbol_node_kind::member_pointer, {}, of_class, type()});
        }
        case 'T': {
            if (peek(1) == 's' || peek(1) == 'u' || peek(1) == 'e') {
                skip(2);  // struct, union, enum: given where the name alone would be ambiguous
                return name(false).name;
            }
            const symbol_node* const parameter = template_parameter();
            if (peek() != 'I') return parameter;
            remembered(parameter);
            return instance_of(parameter, false);
        }
        case 'S': {
            if (peek(1) == 't') return name(false).name;
            const symbol_node* const name = substitution();
            if (peek() == 'I') return instance_of(name, false);
            is_new = false;
            return name;
        }
        case 'D':
            return extended_type(is_new);
        case 'U': {
            if (peek(1) == 'l' || peek(1) == 't') return name(false).name;
            take('U');
            const symbol_node* qualifier = source_name();
            if (peek() == 'I') qualifier = instance_of(qualifier, false);
            const symbol_node* const qualified = type();
            return nodes_.add({symbol_node_kind::list, " ", qualified, qualifier});
        }
        case 'u': {
            take('u');
            const symbol_node* const name = source_name();
            return peek() == 'I' ? instance_of(name, false) : name;
        }
        default:
            return name(false).name;
    }
}

const symbol_node* symbol_parser::reference_to(std::string_view sign) {
    skip(1);
    return nodes_.add({symbol_node_kind::reference, sign, type()});
}

const symbol_node* symbol_parser::extended_type(bool& is_new) {
    struct extended {
        char code;
        std::string_view text;
    };
    constexpr auto known = std::to_array<extended>({{'a', "auto"},
                                                    {'c', "decltype(auto)"},
                                                    {'d', "decimal64"},
                                                    {'e', "decimal128"},
                                                    {'f', "decimal32"},
                                                    {'h', "half"},
                                                    {'i', "char32_t"},
                                                    {'n', "decltype(nullptr)"},
                                                    {'s', "char16_t"},
                                                    {'u', "char8_t"}});
    if (peek(1) == 'o' || peek(1) == 'O' || peek(1) == 'w' || peek(1) == 'x') return function_type();
    expect('D');
    if (take('p')) return nodes_.add({symbol_node_kind::expansion, {}, type()});
    if (take('t') || take('T')) {
        const symbol_node* const operand = expression();
        expect('E');
        return nodes_.add({symbol_node_kind::list, "(", nodes_.text("decltype "),
                           nodes_.add({symbol_node_kind::list, {}, operand, nodes_.text(")")})});
    }
    if (take('v')) {
        const symbol_node* size = nullptr;
        if (take('_')) {
            size = expression();
        } else {
            const std::size_t begin = next_;
            number();
            size = nodes_.text(in_.substr(begin, next_ - begin));
        }
        expect('_');
        const symbol_node* const element = type();
        return nodes_.add({symbol_node_kind::list, " __vector(", element,
                           nodes_.add({symbol_node_kind::list, {}, size, nodes_.text(")")})});
    }
    is_new = false;
    if (take('F')) {
        const std::size_t begin = next_;
        number();
        const std::string bits{in_.substr(begin, next_ - begin)};
        if (take('b')) return nodes_.text("std::bfloat16_t");
        const bool is_extended = take('x');
        if (!is_extended) expect('_');
        return nodes_.make_text("_Float" + bits + (is_extended ? "x" : ""));
    }
    for (const extended& entry : known) {
        if (take(entry.code)) return nodes_.text(entry.text);
    }
    throw symbol_not_understood{};
}

const symbol_node* symbol_parser::function_type() {
    std::string suffix;
    if (take("Do")) {
        suffix = " noexcept";
    } else if (peek() == 'D') {
        throw symbol_not_understood{};
    }
    expect('F');
    take('Y');  // extern "C"
    const symbol_node* const returned = type();
    std::vector<const symbol_node*> parameters;
    while (peek() != 'E' && !((peek() == 'R' || peek() == 'O') && peek(1) == 'E')) {
        if (take('v')) continue;
        parameters.push_back(type());
    }
    if (take('R')) suffix = " &" + suffix;
    if (take('O')) suffix = " &&" + suffix;
    expect('E');
    return nodes_.add(
        {symbol_node_kind::function_type, nodes_.keep(std::move(suffix)), returned, nullptr, std::move(parameters)});
}

const symbol_node* symbol_parser::array_type() {
    expect('A');
    std::string_view text;
    const symbol_node* bound = nullptr;
    if (is_digit(peek())) {
        const std::size_t begin = next_;
        while (is_digit(peek())) ++next_;
        text = in_.substr(begin, next_ - begin);
    } else if (peek() != '_') {
        bound = expression();
    }
    expect('_');
    const symbol_node* const element = type();
    return nodes_.add({symbol_node_kind::array, text, element, bound});
}

std::vector<const symbol_node*> symbol_parser::types_until_end() {
    std::vector<const symbol_node*> out;
    while (!take('E')) {
        if (take('v')) continue;
        out.push_back(type());
    }
    return out;
}

}  // namespace prof
