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
#include "timeline/row_ids.hpp"

namespace prof {

struct module_node;
using module_node_id = row_index<module_node>;

// A module, or the container of some.
struct module_node {
    std::string part;  // of the path
    std::string path;
    std::string class_name;
    char separator = '.';                  // of the path's parts; JAX's is '/'
    std::vector<module_node_id> children;  // in the order in which they were first called
    std::uint64_t calls = 0;
    module_times self;
    module_times total;
};

class module_tree {
public:
    // Of a call's name, "Root.a.b (Class)".
    module_node_id node_of(std::string_view name);
    module_node_id node_at(std::string_view path, char separator);
    // Of a path of JAX's scopes.
    module_node_id node_of_scopes(std::string_view path);
    module_node& at(module_node_id node) { return nodes_[node]; }
    const module_node& at(module_node_id node) const { return nodes_[node]; }
    module_node_id parent(module_node_id node) const { return parents_[node]; }  // npos: of a root
    const std::vector<module_node_id>& roots() const noexcept { return roots_; }

    // Finds what is called by one name. Call it when all modules are known.
    void fold();
    // The last part of the path; "*" or "Block_*" for one of several that are numbered and alike, in one list or in
    // lists that have one name. REQUIRES: fold().
    const std::string& folded_part(module_node_id node) const { return folded_[node].part; }
    // "Root.h.*.attn"
    const std::string& folded_path(module_node_id node) const { return folded_[node].path; }
    // Sets the totals from what each module has itself.
    void add_up();

private:
    struct folded_name {
        std::string part;
        std::string path;
    };
    bool holds_alike(module_node_id node) const;

    row_table<module_node> nodes_;
    row_values<module_node_id, module_node_id> parents_;
    std::vector<module_node_id> roots_;
    row_values<module_node_id, folded_name> folded_;
    std::unordered_map<std::string, module_node_id> by_name_;
    std::unordered_map<std::string, module_node_id> by_path_;
};

void add_times(module_times& to, const module_times& what);

}  // namespace prof
