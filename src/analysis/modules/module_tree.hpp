// SPDX-License-Identifier: Apache-2.0
// The modules of a program as the tree that their paths make, and what they are called where numbered modules of one
// list are one. One thread; memory linear in the names of modules.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "analysis/modules/module_times.hpp"

namespace prof {

// A module, or the container of some.
struct module_node {
    std::string part;  // of the path
    std::string path;
    std::string class_name;
    char separator = '.';                 // of the path's parts; JAX's is '/'
    std::vector<std::uint32_t> children;  // in the order in which they were first called
    std::uint64_t calls = 0;
    module_times self;
    module_times total;
};

class module_tree {
public:
    // Of a call's name, "Root.a.b (Class)".
    std::uint32_t node_of(std::string_view name);
    std::uint32_t node_at(std::string_view path, char separator);
    // Of a path of JAX's scopes.
    std::uint32_t node_of_scopes(std::string_view path);
    module_node& at(std::uint32_t node) { return nodes_[node]; }
    const module_node& at(std::uint32_t node) const { return nodes_[node]; }
    std::uint32_t parent(std::uint32_t node) const { return parents_[node]; }  // npos: of a root
    const std::vector<std::uint32_t>& roots() const noexcept { return roots_; }

    // Finds what is called by one name. Call it when all modules are known.
    void fold();
    // The last part of the path; "*" or "Block_*" for one of several that are numbered and alike, in one list or in
    // lists that have one name. REQUIRES: fold().
    const std::string& folded_part(std::uint32_t node) const { return folded_[node].part; }
    // "Root.h.*.attn"
    const std::string& folded_path(std::uint32_t node) const { return folded_[node].path; }
    // Sets the totals from what each module has itself.
    void add_up();

private:
    struct folded_name {
        std::string part;
        std::string path;
    };
    bool holds_alike(std::uint32_t node) const;

    std::vector<module_node> nodes_;
    std::vector<std::uint32_t> parents_;  // by node
    std::vector<std::uint32_t> roots_;
    std::vector<folded_name> folded_;  // by node
    std::unordered_map<std::string, std::uint32_t> by_name_;
    std::unordered_map<std::string, std::uint32_t> by_path_;
};

void add_times(module_times& to, const module_times& what);

}  // namespace prof
