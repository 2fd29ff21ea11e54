// SPDX-License-Identifier: Apache-2.0
#include "symbols/parser.hpp"

#include <algorithm>
#include <array>
#include <utility>

#include "base/ascii.hpp"

namespace prof {
namespace {

bool is_lower(char c) noexcept { return c >= 'a' && c <= 'z'; }

struct known_operator {
    std::string_view code;
    std::string_view text;
    int operands;
};
constexpr auto operators = std::to_array<known_operator>({
    {"aN", "&=", 2}, {"aS", "=", 2},   {"aa", "&&", 2},  {"ad", "&", 1},        {"an", "&", 2},     {"cl", "()", 0},
    {"cm", ",", 2},  {"co", "~", 1},   {"dV", "/=", 2},  {"da", "delete[]", 0}, {"de", "*", 1},     {"dl", "delete", 0},
    {"dv", "/", 2},  {"eO", "^=", 2},  {"eo", "^", 2},   {"eq", "==", 2},       {"ge", ">=", 2},    {"gt", ">", 2},
    {"ix", "[]", 0}, {"lS", "<<=", 2}, {"le", "<=", 2},  {"ls", "<<", 2},       {"lt", "<", 2},     {"mI", "-=", 2},
    {"mL", "*=", 2}, {"mi", "-", 2},   {"ml", "*", 2},   {"mm", "--", 1},       {"na", "new[]", 0}, {"ne", "!=", 2},
    {"ng", "-", 1},  {"nt", "!", 1},   {"nw", "new", 0}, {"oR", "|=", 2},       {"oo", "||", 2},    {"or", "|", 2},
    {"pL", "+=", 2}, {"pl", "+", 2},   {"pm", "->*", 2}, {"pp", "++", 1},       {"ps", "+", 1},     {"pt", "->", 0},
    {"qu", "?", 0},  {"rM", "%=", 2},  {"rS", ">>=", 2}, {"rm", "%", 2},        {"rs", ">>", 2},    {"ss", "<=>", 2},
});

}  // namespace

symbol_operator symbol_operator_of(std::string_view code) {
    const auto* const found = std::find_if(operators.begin(), operators.end(),
                                           [&](const known_operator& known) { return known.code == code; });
    return found == operators.end() ? symbol_operator{} : symbol_operator{found->text, found->operands};
}

bool symbol_parser::take(char c) {
    const bool is_next = peek() == c && next_ < in_.size();
    next_ += is_next ? 1 : 0;
    return is_next;
}

bool symbol_parser::take(std::string_view text) {
    const bool is_next = in_.substr(next_, text.size()) == text;
    next_ += is_next ? text.size() : 0;
    return is_next;
}

void symbol_parser::skip(std::size_t characters) {
    if (characters > in_.size() - next_) throw symbol_not_understood{};
    next_ += characters;
}

void symbol_parser::expect(char c) {
    if (!take(c)) throw symbol_not_understood{};
}

std::size_t symbol_parser::number() {
    if (!is_digit(peek())) throw symbol_not_understood{};
    std::size_t value = 0;
    for (; is_digit(peek()); ++next_) {
        value = value * 10 + static_cast<std::size_t>(peek() - '0');
        if (value > in_.size() * 10 + 1000) throw symbol_not_understood{};
    }
    return value;
}

std::size_t symbol_parser::sequence_number() {
    if (take('_')) return 0;
    const std::size_t value = number() + 1;
    expect('_');
    return value;
}

const symbol_node* symbol_parser::parse() {
    if (!take("_Z")) throw symbol_not_understood{};
    const symbol_node* root = encoding(true);
    // The suffixes of clones made by GCC: f.part.0
    while (peek() == '.') {
        std::size_t end = next_ + 1;
        while (end < in_.size() && (is_lower(in_[end]) || in_[end] == '_')) ++end;
        while (end + 1 < in_.size() && in_[end] == '.' && is_digit(in_[end + 1])) {
            for (++end; end < in_.size() && is_digit(in_[end]);) ++end;
        }
        if (end == next_ + 1) throw symbol_not_understood{};
        root = nodes_.add({symbol_node_kind::suffixed,
                           nodes_.keep(" [clone " + std::string{in_.substr(next_, end - next_)} + "]"), root});
        next_ = end;
    }
    if (next_ != in_.size()) throw symbol_not_understood{};
    return root;
}

const symbol_node* symbol_parser::base_name(const symbol_node* n) {
    for (;;) {
        switch (n->kind) {
            case symbol_node_kind::function:
            case symbol_node_kind::suffixed:
            case symbol_node_kind::instance:
                n = n->a;
                break;
            case symbol_node_kind::qualified:
                n = n->b;
                break;
            default:
                return n;
        }
    }
}

const symbol_node* symbol_parser::encoding(bool is_outermost) {
    const symbol_nesting deeper{depth_};
    const name_parts named = name(true);
    std::vector<const symbol_node*> arguments = arguments_;
    if (next_ == in_.size() || peek() == 'E' || peek() == '.') return named.name;
    const symbol_node* returned = nullptr;
    if (named.ends_in_arguments && !named.has_no_return) {
        returned = type();
        if (!is_outermost) returned = nullptr;  // as a scope it is printed without its return type
    }
    std::vector<const symbol_node*> parameters;
    if (peek() == 'v') {
        take('v');
    } else {
        do {
            parameters.push_back(type());
        } while (next_ != in_.size() && peek() != 'E' && peek() != '.');
    }
    return nodes_.add(
        {symbol_node_kind::function, named.suffix, named.name, returned, std::move(parameters), std::move(arguments)});
}

symbol_parser::name_parts symbol_parser::name(bool binds_arguments) {
    const symbol_nesting deeper{depth_};
    if (peek() == 'N') return nested_name(binds_arguments);
    if (peek() == 'Z') return local_name(binds_arguments);
    name_parts out;
    if (peek() == 'S' && peek(1) != 't') {
        out.name = substitution();
    } else {
        const symbol_node* const scope = take("St") ? nodes_.text("std") : nullptr;
        out.name = unqualified_name(nullptr, out.has_no_return);
        if (scope != nullptr) out.name = nodes_.add({symbol_node_kind::qualified, {}, scope, out.name});
        if (peek() != 'I') return out;
        remembered(out.name);
    }
    out.name = instance_of(out.name, binds_arguments);
    out.ends_in_arguments = true;
    return out;
}

// A symbol has restrict, volatile and const in this order, C++ in the reverse one.
std::string symbol_parser::qualifiers() {
    const bool restricts = take('r');
    const bool is_volatile = take('V');
    std::string text;
    if (take('K')) text += " const";
    if (is_volatile) text += " volatile";
    if (restricts) text += " restrict";
    return text;
}

std::string_view symbol_parser::member_suffix() {
    std::string text = qualifiers();
    if (take('R')) {
        text += " &";
    } else if (take('O')) {
        text += " &&";
    }
    return text.empty() ? std::string_view{} : nodes_.keep(std::move(text));
}

symbol_parser::name_parts symbol_parser::nested_name(bool binds_arguments) {
    expect('N');
    name_parts out;
    out.suffix = member_suffix();
    bool last_is_remembered = false;
    while (!take('E')) {
        const symbol_nesting deeper{depth_};
        take('L');
        out.ends_in_arguments = false;
        last_is_remembered = false;
        if (peek() == 'I') {
            if (out.name == nullptr) throw symbol_not_understood{};
            out.name = instance_of(out.name, binds_arguments);
            out.ends_in_arguments = true;
        } else if (peek() == 'S' && out.name == nullptr) {
            out.name = take("St") ? nodes_.text("std") : substitution();
            continue;
        } else if (peek() == 'T' && out.name == nullptr) {
            out.name = template_parameter();
        } else if (peek() == 'D' && (peek(1) == 't' || peek(1) == 'T') && out.name == nullptr) {
            out.name = type();  // type() remembers it
            continue;
        } else if (peek() == 'M' && out.name != nullptr) {
            take('M');  // the variable that a lambda initializes
            continue;
        } else {
            const symbol_node* const part = unqualified_name(out.name, out.has_no_return);
            out.name = out.name == nullptr ? part : nodes_.add({symbol_node_kind::qualified, {}, out.name, part});
        }
        remembered(out.name);
        last_is_remembered = true;
    }
    if (!last_is_remembered) throw symbol_not_understood{};
    substitutions_.pop_back();  // the whole name is remembered as a type, if it is one
    return out;
}

symbol_parser::name_parts symbol_parser::local_name(bool binds_arguments) {
    expect('Z');
    std::vector<const symbol_node*> outer = arguments_;
    const symbol_node* const function = encoding(false);
    if (!binds_arguments) arguments_ = std::move(outer);
    expect('E');
    name_parts out;
    if (take('s')) {
        out.name = nodes_.text("string literal");
    } else if (take('d')) {
        const std::size_t argument = sequence_number() + 1;
        out = name(binds_arguments);
        out.name = nodes_.add({symbol_node_kind::qualified,
                               {},
                               nodes_.make_text("{default arg#" + std::to_string(argument) + "}"),
                               out.name});
    } else {
        out = name(binds_arguments);
    }
    skip_discriminator();
    out.name = nodes_.add({symbol_node_kind::qualified, {}, function, out.name});
    return out;
}

void symbol_parser::skip_discriminator() {
    if (peek() != '_') return;
    if (peek(1) == '_') {
        skip(2);
        number();
        take('_');
    } else if (is_digit(peek(1))) {
        skip(2);
    }
}

const symbol_node* symbol_parser::unqualified_name(const symbol_node* scope, bool& has_no_return) {
    take('L');  // internal linkage
    has_no_return = false;
    if (is_digit(peek())) return with_tags(source_name());
    if (peek() == 'U' && (peek(1) == 'l' || peek(1) == 't')) return with_tags(unnamed_type());
    const bool inherits = peek() == 'C' && peek(1) == 'I';
    if ((peek() == 'C' || peek() == 'D') && (inherits || is_digit(peek(1))) && scope != nullptr) {
        const bool destroys = peek() == 'D';
        skip(inherits ? 3 : 2);
        if (inherits) type();
        has_no_return = true;
        const symbol_node* name = base_name(scope);
        if (name->text.starts_with("std::")) name = nodes_.text(name->text.substr(5));
        if (!destroys) return with_tags(name);
        return with_tags(nodes_.add({symbol_node_kind::list, {}, nodes_.text("~"), name}));
    }
    if (is_lower(peek())) return with_tags(operator_name(has_no_return));
    throw symbol_not_understood{};
}

const symbol_node* symbol_parser::with_tags(const symbol_node* named) {
    while (take('B')) {
        const std::size_t length = number();
        if (length > in_.size() - next_) throw symbol_not_understood{};
        named = nodes_.add({symbol_node_kind::tagged, in_.substr(next_, length), named});
        next_ += length;
    }
    return named;
}

const symbol_node* symbol_parser::source_name() {
    const std::size_t length = number();
    if (length == 0 || length > in_.size() - next_) throw symbol_not_understood{};
    const std::string_view text = in_.substr(next_, length);
    next_ += length;
    const bool is_anonymous = length >= 10 && text.starts_with("_GLOBAL_") &&
                              (text[8] == '_' || text[8] == '.' || text[8] == '$') && text[9] == 'N';
    return nodes_.text(is_anonymous ? "(anonymous namespace)" : text);
}

const symbol_node* symbol_parser::operator_name(bool& is_conversion) {
    if (take("cv")) {
        is_conversion = true;
        return nodes_.add({symbol_node_kind::list, {}, nodes_.text("operator "), type()});
    }
    if (take("li")) return nodes_.add({symbol_node_kind::list, {}, nodes_.text("operator\"\" "), source_name()});
    const symbol_operator known = symbol_operator_of(in_.substr(next_, 2));
    if (known.text.empty()) throw symbol_not_understood{};
    skip(2);
    return nodes_.make_text((is_lower(known.text[0]) ? "operator " : "operator") + std::string{known.text});
}

const symbol_node* symbol_parser::unnamed_type() {
    if (take("Ut")) return nodes_.make_text("{unnamed type#" + std::to_string(sequence_number() + 1) + "}");
    expect('U');
    expect('l');
    std::vector<const symbol_node*> parameters = types_until_end();
    const std::string_view index = nodes_.keep(std::to_string(sequence_number() + 1));
    return nodes_.add({symbol_node_kind::lambda, index, nullptr, nullptr, std::move(parameters)});
}

const symbol_node* symbol_parser::substitution() {
    expect('S');
    struct standard {
        char code;
        std::string_view text;
    };
    constexpr auto known = std::to_array<standard>({{'a', "std::allocator"},
                                                    {'b', "std::basic_string"},
                                                    {'d', "std::iostream"},
                                                    {'i', "std::istream"},
                                                    {'o', "std::ostream"},
                                                    {'s', "std::string"}});
    for (const standard& entry : known) {
        if (!take(entry.code)) continue;
        return with_tags(nodes_.text(entry.text));
    }
    std::size_t index = 0;
    if (!take('_')) {
        for (; peek() != '_'; ++next_) {
            const char c = peek();
            const bool is_letter = c >= 'A' && c <= 'Z';
            if (!is_digit(c) && !is_letter) throw symbol_not_understood{};
            index = index * 36 + static_cast<std::size_t>(is_letter ? c - 'A' + 10 : c - '0');
            if (index > in_.size()) throw symbol_not_understood{};
        }
        take('_');
        ++index;
    }
    if (index >= substitutions_.size()) throw symbol_not_understood{};
    return substitutions_[index];
}

const symbol_node* symbol_parser::instance_of(const symbol_node* named, bool binds_arguments) {
    expect('I');
    std::vector<const symbol_node*> items;
    if (binds_arguments) arguments_.clear();
    while (!take('E')) {
        items.push_back(template_argument());
        if (binds_arguments) arguments_.push_back(items.back());
    }
    return nodes_.add({symbol_node_kind::instance, {}, named, nullptr, std::move(items)});
}

const symbol_node* symbol_parser::template_argument() {
    const symbol_nesting deeper{depth_};
    if (peek() == 'L') return literal();
    if (take('X')) {
        const symbol_node* const out = expression();
        expect('E');
        return out;
    }
    if (take('J')) {
        std::vector<const symbol_node*> items;
        while (!take('E')) items.push_back(template_argument());
        return nodes_.add({symbol_node_kind::pack, {}, nullptr, nullptr, std::move(items)});
    }
    return type();
}

const symbol_node* symbol_parser::template_parameter() {
    expect('T');
    symbol_node parameter;
    parameter.kind = symbol_node_kind::parameter;
    parameter.index = sequence_number();
    return nodes_.add(std::move(parameter));
}

}  // namespace prof
