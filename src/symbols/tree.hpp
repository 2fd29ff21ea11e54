// SPDX-License-Identifier: Apache-2.0
// The tree of a mangled C++ symbol, made by the parser (symbols/parser.hpp) and read by the printer. Nodes are shared
// where the symbol refers back to itself, so a tree is never larger than its symbol. Only printing may expand it, and
// that is limited. One thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <string>
#include <string_view>
#include <vector>

namespace prof {

enum class symbol_node_kind : std::uint8_t {
    text,            // printed as it is
    qualified,       // a::b
    instance,        // a<items>
    tagged,          // a[abi:text]
    lambda,          // {lambda(items)#text}
    function,        // b a(items) text: a function's name, its return type (or null) and what follows the parameters
    parameter,       // T_, T0_ …: `index` of a template argument of the enclosing function
    count,           // sizeof...(a)
    call,            // a(items)
    function_type,   // a (items) text
    reference,       // pointer or reference to a; text is * & &&
    member_pointer,  // pointer to member b of class a
    array,           // of a; the bound is b or text
    suffixed,        // a text: const, volatile and the like
    pack,            // items
    expansion,       // a...
    list,            // a text items b: the parts that are present, items separated by commas
    literal,         // text, of type a; null: the type is not printed
    unary,           // text a
    binary,          // a text b
};

struct symbol_node {
    symbol_node_kind kind = symbol_node_kind::text;
    std::string_view text;
    const symbol_node* a = nullptr;
    const symbol_node* b = nullptr;
    std::vector<const symbol_node*> items{};
    std::vector<const symbol_node*> arguments{};  // of the template, for a function
    std::size_t index = 0;
};

class symbol_tree {
public:
    const symbol_node* add(symbol_node added) { return &nodes_.emplace_back(std::move(added)); }
    const symbol_node* text(std::string_view text) { return add({symbol_node_kind::text, text}); }
    const symbol_node* make_text(std::string made) { return text(keep(std::move(made))); }
    std::string_view keep(std::string made) { return texts_.emplace_back(std::move(made)); }

private:
    std::deque<symbol_node> nodes_;
    std::deque<std::string> texts_;
};

// Thrown and caught within demangle(): the symbol is not a C++ name, uses an unsupported construct, or costs too much.
struct symbol_not_understood {};

inline constexpr int deepest_symbol = 256;  // nesting depth, in the symbol and in the output

class symbol_nesting {
public:
    explicit symbol_nesting(int& depth) : depth_(depth) {
        if (++depth_ > deepest_symbol) {
            --depth_;
            throw symbol_not_understood{};
        }
    }
    ~symbol_nesting() { --depth_; }
    symbol_nesting(const symbol_nesting&) = delete;
    symbol_nesting& operator=(const symbol_nesting&) = delete;

private:
    int& depth_;
};

// Prints the tree in the style of c++filt. The output is limited in proportion to `symbol_bytes`, the symbol's length.
std::string print_symbol(const symbol_node& root, std::size_t symbol_bytes);

}  // namespace prof
