// SPDX-License-Identifier: Apache-2.0
// Parses a symbol of the Itanium C++ ABI, the mangling of GCC, Clang and nvcc. Covers the names of functions: all names
// and types, and the expressions that occur in templates. demangle() uses it, and bounds the symbol's length. Time and
// memory are linear in that length. One thread.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "symbols/tree.hpp"

namespace prof {

class symbol_parser {
public:
    // A parser for one symbol. `nodes` gets the tree. REQUIRES: the symbol's text outlives `nodes`, which outlives
    // this.
    symbol_parser(std::string_view symbol, symbol_tree& nodes) : in_(symbol), nodes_(nodes) {}

    // Parses the whole symbol, including _Z. The nodes belong to the tree. Call once. Throws symbol_not_understood.
    const symbol_node* parse();
    // The last name of a function, without scope and arguments. REQUIRES: `n` is a node that a parser returned.
    static const symbol_node* base_name(const symbol_node* n);

private:
    struct name_parts {
        const symbol_node* name = nullptr;
        bool ends_in_arguments = false;
        bool has_no_return = false;  // true for constructors, destructors and conversions
        std::string_view suffix;     // of a member function: const, &
    };

    // In parser.cpp:
    char peek(std::size_t ahead = 0) const { return next_ + ahead < in_.size() ? in_[next_ + ahead] : '\0'; }
    bool take(char c);
    bool take(std::string_view text);
    void skip(std::size_t characters);
    void expect(char c);
    std::size_t number();
    std::size_t sequence_number();  // parses _, 0_, 1_ … as 0, 1, 2 …
    const symbol_node* encoding(bool is_outermost);
    name_parts name(bool binds_arguments);
    name_parts nested_name(bool binds_arguments);
    name_parts local_name(bool binds_arguments);
    const symbol_node* unqualified_name(const symbol_node* scope, bool& has_no_return);
    const symbol_node* source_name();
    const symbol_node* operator_name(bool& is_conversion);
    const symbol_node* unnamed_type();
    const symbol_node* with_tags(const symbol_node* named);
    void skip_discriminator();
    const symbol_node* substitution();
    const symbol_node* instance_of(const symbol_node* named, bool binds_arguments);
    const symbol_node* template_argument();
    const symbol_node* template_parameter();
    std::string qualifiers();
    std::string_view member_suffix();

    // In types.cpp:
    const symbol_node* type();
    const symbol_node* unsubstituted_type(bool& is_new);
    const symbol_node* extended_type(bool& is_new);
    const symbol_node* function_type();
    const symbol_node* array_type();
    const symbol_node* reference_to(std::string_view sign);
    std::vector<const symbol_node*> types_until_end();

    // In expressions.cpp:
    const symbol_node* expression();
    const symbol_node* named_expression(std::string_view code);
    const symbol_node* literal();
    const symbol_node* unresolved_name();
    std::vector<const symbol_node*> expressions_until_end();

    const symbol_node* remembered(const symbol_node* n) {
        substitutions_.push_back(n);
        return n;
    }

    std::string_view in_;
    symbol_tree& nodes_;
    std::size_t next_ = 0;
    int depth_ = 0;
    std::vector<const symbol_node*> substitutions_;
    std::vector<const symbol_node*> arguments_;  // template arguments of the function itself
};

// "+" for "pl"; "" for an unknown code. `operands`: 1, 2, or 0 for an operator that does not occur in expressions.
struct symbol_operator {
    std::string_view text;
    int operands = 0;
};
symbol_operator symbol_operator_of(std::string_view code);

}  // namespace prof
