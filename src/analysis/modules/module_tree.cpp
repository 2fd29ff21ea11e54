// SPDX-License-Identifier: Apache-2.0
#include "analysis/modules/module_tree.hpp"

#include <algorithm>
#include <cstddef>
#include <map>
#include <tuple>
#include <utility>

#include "timeline/timeline.hpp"

namespace prof {
namespace {

// "Root.a.b (Class)", as the hooks name it.
std::pair<std::string_view, std::string_view> path_and_class(std::string_view text) {
    const std::size_t at = text.rfind(" (");
    if (at == std::string_view::npos || !text.ends_with(')')) return {text, {}};
    return {text.substr(0, at), text.substr(at + 2, text.size() - at - 3)};
}

// A path of more parts is of a damaged capture, and one part.
constexpr std::ptrdiff_t most_parts = 256;
char separator_of(std::string_view path, char usual) {
    return std::count(path.begin(), path.end(), usual) < most_parts ? usual : '\0';
}

bool is_number(std::string_view part) {
    return !part.empty() && part.find_first_not_of("0123456789") == std::string_view::npos;
}

// "Block_" of "Block_3", as JAX's libraries number modules; "" where no number ends it.
std::string stem_of(std::string_view part) {
    const std::size_t end = part.find_last_not_of("0123456789");
    const bool is_numbered = end != std::string_view::npos && end + 1 < part.size() && part[end] == '_' && end > 0;
    return is_numbered ? std::string(part.substr(0, end + 1)) : std::string{};
}

}  // namespace

void add_times(module_times& to, const module_times& what) {
    for (std::size_t i = 0; i < to.size(); ++i) {
        to[i].host_ns += what[i].host_ns;
        to[i].gpu_ns += what[i].gpu_ns;
        to[i].ops += what[i].ops;
    }
}

module_node_id module_tree::node_of(std::string_view name) {
    const auto [known, is_new] = by_name_.try_emplace(std::string(name), 0);
    if (is_new) {
        const auto [path, class_name] = path_and_class(name);
        known->second = node_at(path, separator_of(path, '.'));
        nodes_[known->second].class_name = class_name;
    }
    return known->second;
}

module_node_id module_tree::node_of_scopes(std::string_view path) { return node_at(path, separator_of(path, '/')); }

module_node_id module_tree::node_at(std::string_view path, char separator) {
    const auto [known, is_new] = by_path_.try_emplace(std::string(path), 0);
    if (!is_new) return known->second;
    const std::size_t end = path.starts_with('(') ? std::string_view::npos : path.rfind(separator);
    const module_node_id parent = end == std::string_view::npos ? npos : node_at(path.substr(0, end), separator);
    const module_node_id node = nodes_.end_id();
    nodes_.push_back({.part = std::string(path.substr(end == std::string_view::npos ? 0 : end + 1)),
                      .path = std::string(path),
                      .class_name = {},
                      .separator = separator,
                      .children = {},
                      .self = {},
                      .total = {}});
    parents_.push_back(parent);
    (parent == npos ? roots_ : nodes_[parent].children).push_back(node);
    by_path_[std::string(path)] = node;
    return node;
}

// Several modules, numbered and of one class.
bool module_tree::holds_alike(module_node_id node) const {
    const std::vector<module_node_id>& children = nodes_[node].children;
    return children.size() > 1 && std::all_of(children.begin(), children.end(), [&](module_node_id child) {
               return is_number(nodes_[child].part) && nodes_[child].class_name == nodes_[children.front()].class_name;
           });
}

// Level by level: which modules are in one list is known when the lists that they are in are. Parents stand before
// their children.
void module_tree::fold() {
    struct alike {
        std::vector<module_node_id> nodes;
        bool differ = false;  // in their numbers
    };
    folded_.clear();
    for (const module_node& node : nodes_) folded_.push_back({node.part, node.path});
    std::vector<module_node_id> level = roots_;
    for (std::vector<module_node_id> below; !level.empty(); level.swap(below)) {
        below.clear();
        std::map<std::tuple<std::string_view, std::string, std::string_view>, alike> groups;
        for (const module_node_id list : level) {
            const bool is_folded = holds_alike(list);
            for (const module_node_id child : nodes_[list].children) {
                const module_node& at = nodes_[child];
                below.push_back(child);
                if (is_folded) folded_[child].part = "*";
                const std::string stem = stem_of(at.part);
                if (stem.empty()) continue;
                alike& group = groups[{folded_[list].path, stem, at.class_name}];
                group.differ = group.differ || (!group.nodes.empty() && nodes_[group.nodes.front()].part != at.part);
                group.nodes.push_back(child);
            }
        }
        for (const auto& [key, group] : groups) {
            if (!group.differ) continue;
            for (const module_node_id node : group.nodes) folded_[node].part = std::get<1>(key) + '*';
        }
        for (const module_node_id node : below) {
            folded_[node].path = folded_[parents_[node]].path + nodes_[node].separator + folded_[node].part;
        }
    }
}

// Children stand after their parents.
void module_tree::add_up() {
    for (std::size_t number = nodes_.size(); number-- > 0;) {
        const module_node_id i(number);
        add_times(nodes_[i].total, nodes_[i].self);
        if (parents_[i] != npos) add_times(nodes_[parents_[i]].total, nodes_[i].total);
    }
}

}  // namespace prof
