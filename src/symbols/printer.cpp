// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <string>
#include <utility>

#include "symbols/tree.hpp"

namespace prof {
namespace {

// A symbol of a few hundred bytes may expand to gigabytes of output.
constexpr std::size_t longest_output = 1U << 20;
constexpr std::size_t output_for_all = 4096;
constexpr std::size_t output_a_byte = 64;
constexpr std::size_t steps_a_byte = 4;  // for each byte of output

class printer {
public:
    explicit printer(std::size_t symbol_bytes)
        : longest_(std::min(longest_output, output_for_all + output_a_byte * symbol_bytes)) {}

    std::string print(const symbol_node& root) {
        write(root);
        return std::move(out_);
    }

private:
    static constexpr std::size_t no_pack = SIZE_MAX;

    void add(std::string_view text) {
        if (text.size() > longest_ - out_.size()) throw symbol_not_understood{};
        if (!text.empty()) comma_taken_back_ = false;
        out_ += text;
    }
    bool ends_with(char c) const { return !out_.empty() && out_.back() == c; }
    void step() {
        if (++steps_ > steps_a_byte * longest_) throw symbol_not_understood{};
    }

    // Replaces a template parameter by its argument. Within an expansion, an argument that is a pack is replaced by its
    // present element. A pack inside an argument is not replaced.
    const symbol_node& resolved(const symbol_node& n) const {
        if (n.kind != symbol_node_kind::parameter || lambdas_ != 0) return n;
        if (arguments_ == nullptr || n.index >= arguments_->size()) throw symbol_not_understood{};
        const symbol_node& argument = *(*arguments_)[n.index];
        const bool is_element = argument.kind == symbol_node_kind::pack && pack_index_ < argument.items.size();
        return is_element ? *argument.items[pack_index_] : argument;
    }
    const symbol_node& behind_suffixes(const symbol_node& n) const {
        const symbol_node* node = &resolved(n);
        while (node->kind == symbol_node_kind::suffixed) node = &resolved(*node->a);
        return *node;
    }
    bool is_function(const symbol_node& n) const { return behind_suffixes(n).kind == symbol_node_kind::function_type; }
    bool is_array(const symbol_node& n) const { return behind_suffixes(n).kind == symbol_node_kind::array; }
    bool has_right(const symbol_node& n) {
        step();
        const symbol_nesting deeper{depth_};
        const symbol_node& inner = behind_suffixes(n);
        if (inner.kind == symbol_node_kind::reference) return has_right(*inner.a);
        if (inner.kind == symbol_node_kind::member_pointer) return has_right(*inner.b);
        return inner.kind == symbol_node_kind::function_type || inner.kind == symbol_node_kind::array;
    }

    void write(const symbol_node& n) {
        left(n);
        right(n);
    }

    // Prints the part of a declaration of this type that precedes the declared name.
    void left(const symbol_node& unresolved) {
        step();
        const symbol_nesting deeper{depth_};
        const symbol_node& n = resolved(unresolved);
        switch (n.kind) {
            case symbol_node_kind::reference:
                reference_left(n);
                break;
            case symbol_node_kind::member_pointer:
                left(*n.b);
                add(is_function(*n.b) ? "(" : " ");
                write(*n.a);
                add("::*");
                break;
            case symbol_node_kind::function_type:
                left(*n.a);
                if (!has_right(*n.a)) add(" ");
                break;
            case symbol_node_kind::array:
                left(*n.a);
                break;
            case symbol_node_kind::suffixed:
                left(*n.a);
                if (!is_function(*n.a)) add(n.text);
                break;
            default:
                whole(n);
        }
    }

    // Prints the part of a declaration of this type that follows the declared name.
    void right(const symbol_node& unresolved) {
        step();
        const symbol_nesting deeper{depth_};
        const symbol_node& n = resolved(unresolved);
        switch (n.kind) {
            case symbol_node_kind::reference: {
                const symbol_node& target = referred(n).second;
                if (is_function(target) || is_array(target)) add(")");
                right(target);
                break;
            }
            case symbol_node_kind::member_pointer:
                if (is_function(*n.b)) add(")");
                right(*n.b);
                break;
            case symbol_node_kind::function_type:
                parameters(n.items);
                add(n.text);
                right(*n.a);
                break;
            case symbol_node_kind::array:
                if (!ends_with(']')) add(" ");
                add("[");
                if (n.b != nullptr) write(*n.b);
                add(n.text);
                add("]");
                right(*n.a);
                break;
            case symbol_node_kind::suffixed:
                right(*n.a);
                if (is_function(*n.a)) add(n.text);
                break;
            default:
                break;
        }
    }

    // References to references collapse: the result is && only if all are &&.
    std::pair<std::string_view, const symbol_node&> referred(const symbol_node& n) {
        std::string_view sign = n.text;
        const symbol_node* target = &resolved(*n.a);
        while (sign != "*" && target->kind == symbol_node_kind::reference && target->text != "*") {
            step();
            if (target->text == "&") sign = "&";
            target = &resolved(*target->a);
        }
        return {sign, *target};
    }
    void reference_left(const symbol_node& n) {
        const auto [sign, target] = referred(n);
        left(target);
        if (is_array(target)) {
            add(" (");
        } else if (is_function(target)) {
            add("(");
        }
        add(sign);
    }

    void whole(const symbol_node& n) {
        switch (n.kind) {
            case symbol_node_kind::text:
                add(n.text);
                break;
            case symbol_node_kind::qualified:
                write(*n.a);
                add("::");
                write(*n.b);
                break;
            case symbol_node_kind::instance:
                write(*n.a);
                add(ends_with('<') ? " <" : "<");
                comma_separated(n.items);
                add(ends_with('>') && !comma_taken_back_ ? " >" : ">");
                break;
            case symbol_node_kind::tagged:
                write(*n.a);
                add("[abi:");
                add(n.text);
                add("]");
                break;
            case symbol_node_kind::lambda:
                add("{lambda");
                ++lambdas_;
                parameters(n.items);
                --lambdas_;
                add("#");
                add(n.text);
                add("}");
                break;
            case symbol_node_kind::function:
                function(n);
                break;
            case symbol_node_kind::parameter:  // of a generic lambda
                add("auto:" + std::to_string(n.index + 1));
                break;
            case symbol_node_kind::count:
                if (const symbol_node* const pack = pack_in(*n.a)) {
                    add(std::to_string(pack->items.size()));
                    break;
                }
                add("sizeof...(");
                write(*n.a);
                add(")");
                break;
            case symbol_node_kind::call:
                operand(*n.a);
                parameters(n.items);
                break;
            case symbol_node_kind::pack:
                comma_separated(n.items);
                break;
            case symbol_node_kind::expansion:
                expansion(*n.a);
                break;
            case symbol_node_kind::list:
                if (n.a != nullptr) write(*n.a);
                add(n.text);
                comma_separated(n.items);
                if (n.b != nullptr) write(*n.b);
                break;
            case symbol_node_kind::literal:
                if (n.a != nullptr) {
                    add("(");
                    write(*n.a);
                    add(")");
                }
                add(n.text);
                break;
            case symbol_node_kind::unary:
                add(n.text);
                operand(*n.a);
                break;
            case symbol_node_kind::binary:
                // Within template arguments, > would end them.
                if (n.text == ">") add("(");
                operand(*n.a);
                add(n.text);
                operand(*n.b);
                if (n.text == ">") add(")");
                break;
            default:
                throw symbol_not_understood{};
        }
    }

    void operand(const symbol_node& n) {
        const bool simple =
            (n.kind == symbol_node_kind::text && !n.text.empty()) || n.kind == symbol_node_kind::qualified;
        if (!simple) add("(");
        write(n);
        if (!simple) add(")");
    }

    void function(const symbol_node& n) {
        const auto* const outer = std::exchange(arguments_, &n.arguments);
        if (n.b != nullptr) {
            left(*n.b);
            if (!has_right(*n.b)) add(" ");
        }
        write(*n.a);
        parameters(n.items);
        add(n.text);
        if (n.b != nullptr) right(*n.b);
        arguments_ = outer;
    }

    void parameters(const std::vector<const symbol_node*>& items) {
        add("(");
        comma_separated(items);
        add(")");
    }

    // Removes a comma that nothing follows. A comma before an empty pack stays if something comes after it, and no
    // blank is put between brackets after a removed comma. Names must equal those that other tools print.
    void comma_separated(const std::vector<const symbol_node*>& items) {
        std::vector<std::size_t> commas;
        for (std::size_t i = 0; i < items.size(); ++i) {
            if (i != 0) {
                commas.push_back(out_.size());
                add(", ");
            }
            write(*items[i]);
        }
        for (; !commas.empty() && out_.size() == commas.back() + 2; commas.pop_back()) {
            out_.resize(commas.back());
            comma_taken_back_ = true;
        }
    }

    // Prints the pattern once for each element of the pack inside.
    void expansion(const symbol_node& pattern) {
        const symbol_node* const pack = pack_in(pattern);
        if (pack == nullptr) {
            write(pattern);
            add("...");
            return;
        }
        const std::size_t outer = pack_index_;
        for (std::size_t i = 0; i < pack->items.size(); ++i) {
            if (i != 0) add(", ");
            pack_index_ = i;
            write(pattern);
        }
        pack_index_ = outer;
    }

    const symbol_node* pack_in(const symbol_node& unresolved) {
        step();
        const symbol_nesting deeper{depth_};
        const bool is_known = unresolved.kind == symbol_node_kind::parameter && lambdas_ == 0 &&
                              arguments_ != nullptr && unresolved.index < arguments_->size();
        const symbol_node& n = is_known ? *(*arguments_)[unresolved.index] : unresolved;
        if (n.kind == symbol_node_kind::pack) return &n;
        if (n.kind == symbol_node_kind::expansion) return nullptr;
        for (const symbol_node* const below : {n.a, n.b}) {
            if (below == nullptr) continue;
            if (const symbol_node* const found = pack_in(*below)) return found;
        }
        for (const symbol_node* const item : n.items) {
            if (const symbol_node* const found = pack_in(*item)) return found;
        }
        return nullptr;
    }

    std::string out_;
    std::size_t longest_;
    std::size_t steps_ = 0;
    std::size_t pack_index_ = no_pack;
    const std::vector<const symbol_node*>* arguments_ = nullptr;  // template arguments of the function being written
    int lambdas_ = 0;                                             // depth of lambdas whose parameters are being written
    int depth_ = 0;
    bool comma_taken_back_ = false;  // the last step removed a comma
};

}  // namespace

std::string print_symbol(const symbol_node& root, std::size_t symbol_bytes) {
    return printer{symbol_bytes}.print(root);
}

}  // namespace prof
