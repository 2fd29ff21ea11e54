// SPDX-License-Identifier: Apache-2.0
#include <array>

#include "base/ascii.hpp"
#include "symbols/parser.hpp"

namespace prof {

std::vector<const symbol_node*> symbol_parser::expressions_until_end() {
    std::vector<const symbol_node*> out;
    while (!take('E')) out.push_back(expression());
    return out;
}

const symbol_node* symbol_parser::expression() {
    const symbol_nesting deeper{depth_};
    if (peek() == 'L') return literal();
    if (peek() == 'T') return template_parameter();
    if (is_digit(peek())) return unresolved_name();
    if (take("fp") || take("fL")) {
        // fp_ and fL<level>p_: a parameter of the enclosing function.
        if (in_[next_ - 1] == 'L') {
            number();
            expect('p');
        }
        while (peek() == 'r' || peek() == 'V' || peek() == 'K') ++next_;
        return nodes_.make_text("{parm#" + std::to_string(sequence_number() + 1) + "}");
    }
    const std::string_view code = in_.substr(next_, 2);
    if (code.size() < 2) throw symbol_not_understood{};
    const symbol_operator known = symbol_operator_of(code);
    if (known.operands == 0) return named_expression(code);
    skip(2);
    if (known.operands == 2) {
        const symbol_node* const first = expression();
        return nodes_.add({symbol_node_kind::binary, known.text, first, expression()});
    }
    const bool is_step = code == "pp" || code == "mm";
    const bool is_prefix = is_step && take('_');
    const symbol_node* const operand = expression();
    if (is_step && !is_prefix) {
        return nodes_.add({symbol_node_kind::list, ")",
                           nodes_.add({symbol_node_kind::list, {}, nodes_.text("("), operand}),
                           nodes_.text(known.text)});
    }
    return nodes_.add({symbol_node_kind::unary, known.text, operand});
}

// Parses expressions that are neither unary nor binary operators.
const symbol_node* symbol_parser::named_expression(std::string_view code) {
    if (code == "sr" || code == "on" || code == "gs" || code == "dn") return unresolved_name();
    skip(2);
    const auto wrapped = [&](std::string_view before, const symbol_node* inside, std::string_view after) {
        return nodes_.add({symbol_node_kind::list,
                           {},
                           nodes_.text(before),
                           nodes_.add({symbol_node_kind::list, {}, inside, nodes_.text(after)})});
    };
    const auto listed = [&](const symbol_node* before, std::string_view open, std::vector<const symbol_node*> items,
                            std::string_view close) {
        return nodes_.add({symbol_node_kind::list, open, before, nodes_.text(close), std::move(items)});
    };
    if (code == "st") return wrapped("sizeof (", type(), ")");
    if (code == "sz") return wrapped("sizeof (", expression(), ")");
    if (code == "at") return wrapped("alignof (", type(), ")");
    if (code == "az") return wrapped("alignof (", expression(), ")");
    if (code == "nx") return wrapped("noexcept (", expression(), ")");
    if (code == "sp") return nodes_.add({symbol_node_kind::expansion, {}, expression()});
    if (code == "sZ") return nodes_.add({symbol_node_kind::count, {}, expression()});
    if (code == "cl") {
        const symbol_node* const called = expression();
        return nodes_.add({symbol_node_kind::call, {}, called, nullptr, expressions_until_end()});
    }
    if (code == "cv") {
        const symbol_node* const target = type();
        std::vector<const symbol_node*> items;
        if (take('_')) {
            items = expressions_until_end();
        } else {
            items.push_back(expression());
        }
        return listed(wrapped("(", target, ")"), "(", std::move(items), ")");
    }
    if (code == "tl") {
        const symbol_node* const made = type();
        return listed(made, "{", expressions_until_end(), "}");
    }
    if (code == "il") return listed(nullptr, "{", expressions_until_end(), "}");
    if (code == "ix") {
        const symbol_node* const indexed = expression();
        return listed(indexed, "[", {expression()}, "]");
    }
    if (code == "dt" || code == "pt") {
        const symbol_node* const object = expression();
        return nodes_.add({symbol_node_kind::binary, code == "dt" ? "." : "->", object, unresolved_name()});
    }
    if (code == "qu") {
        const symbol_node* const condition = expression();
        const symbol_node* const then = expression();
        return nodes_.add({symbol_node_kind::binary, "?", condition,
                           nodes_.add({symbol_node_kind::binary, " : ", then, expression()})});
    }
    constexpr auto casts = std::to_array<std::array<std::string_view, 2>>(
        {{"sc", "static_cast<"}, {"dc", "dynamic_cast<"}, {"cc", "const_cast<"}, {"rc", "reinterpret_cast<"}});
    for (const auto& [cast, text] : casts) {
        if (code != cast) continue;
        const symbol_node* const target = type();
        return listed(wrapped(text, target, ">"), "(", {expression()}, ")");
    }
    throw symbol_not_understood{};
}

// L … E: a number with its type, or an entity with an address.
const symbol_node* symbol_parser::literal() {
    expect('L');
    if (take("_Z")) {
        const symbol_node* const out = encoding(false);
        expect('E');
        return out;
    }
    const char code = peek();
    const symbol_node* const literal_type = type();
    const std::size_t begin = next_;
    while (next_ < in_.size() && peek() != 'E') ++next_;
    std::string text{in_.substr(begin, next_ - begin)};
    expect('E');
    if (!text.empty() && text[0] == 'n') text[0] = '-';
    constexpr auto endings = std::to_array<std::array<std::string_view, 2>>(
        {{"i", ""}, {"j", "u"}, {"l", "l"}, {"m", "ul"}, {"x", "ll"}, {"y", "ull"}});
    for (const auto& [of_type, ending] : endings) {
        if (code == of_type[0]) return nodes_.add({symbol_node_kind::literal, nodes_.keep(text.append(ending))});
    }
    if (code == 'b' && (text == "0" || text == "1"))
        return nodes_.add({symbol_node_kind::literal, text == "0" ? "false" : "true"});
    if (code == 'f' || code == 'd' || code == 'e' || code == 'g') text = "[" + text + "]";
    return nodes_.add({symbol_node_kind::literal, nodes_.keep(std::move(text)), literal_type});
}

// A name in an expression: f, T::x, A::B::x, with template arguments.
const symbol_node* symbol_parser::unresolved_name() {
    const symbol_nesting deeper{depth_};
    take("gs");
    const auto simple = [&] {
        bool ignored = false;
        const symbol_node* name = take("on") ? operator_name(ignored) : with_tags(source_name());
        if (peek() == 'I') name = instance_of(name, false);
        return name;
    };
    if (!take("sr")) {
        if (take("dn")) return nodes_.add({symbol_node_kind::list, {}, nodes_.text("~"), simple()});
        return simple();
    }
    const symbol_node* scope = nullptr;
    if (take('N') || is_digit(peek())) {
        scope = in_[next_ - 1] == 'N' ? type() : simple();
        while (!take('E')) scope = nodes_.add({symbol_node_kind::qualified, {}, scope, simple()});
    } else {
        scope = type();
    }
    return nodes_.add({symbol_node_kind::qualified, {}, scope, simple()});
}

}  // namespace prof
