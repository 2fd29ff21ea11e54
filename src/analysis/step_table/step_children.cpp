// SPDX-License-Identifier: Apache-2.0
#include "analysis/step_table/step_children.hpp"

#include <algorithm>
#include <utility>

#include "analysis/breakdown/code_places.hpp"

namespace prof {

step_children::step_children(const timeline& data, const attribution& att, const timeline& original,
                             const row_tree& tree)
    : data_(data), att_(att), tree_(tree), finder_(data, att, original) {
    // Which modules were called, and are no mere lists of others, is known when all names are.
    if (finder_.calls().empty()) return;
    for (const timeline_range& range : data.ranges) {
        if (range.is_module && range.style == range_style::push_pop) (void)module_of_name(range.name);
    }
}

void step_children::add_busy(const step_rows::found_row& row, op_id op, step_column use, std::int64_t ns) {
    const auto add = [&](child_id to) { children_[to].own.ns[static_cast<std::size_t>(use)] += ns; };
    child_id in_ranges = range_child(row, tree_.self_of(op));
    if (const std::optional<module_scopes> scopes = finder_.scopes_of_op(op)) {
        const auto [known, is_new] = scope_paths_.try_emplace(scopes->path, npos);
        if (is_new) known->second = scopes_.node_of_scopes(finder_.paths()[scopes->path]);
        in_ranges = scope_child(in_ranges, known->second);
    }
    add(in_ranges);
    if (!finder_.calls().empty()) add(module_child(row.row, finder_.maker_of_op(op)));
}

void step_children::count_call(const step_rows::found_row& row, range_id range) {
    const auto count = [&](child_id at) {
        step_table_row& own = children_[at].own;
        ++own.calls;
        own.first_ns = std::min(own.first_ns, data_.ranges[range].start_ns);
    };
    if (data_.ranges[range].is_module) {
        count(module_child(row.row, {made_in::module, range}));
    } else if (tree_.node_of(range) != npos && !continues_phase(data_, data_.ranges[range])) {
        count(range_child(row, tree_.node_of(range)));
    }
}

void step_children::add_host_time(child_id at, std::int64_t cpu_ns, std::int64_t wait_ns) {
    children_[at].own.cpu_ns += cpu_ns;
    children_[at].own.wait_ns += wait_ns;
}

row_tree::node_id step_children::tree_node_of(range_id range) const {
    for (; is_range(range); range = att_.parent[range]) {
        if (const row_tree::node_id node = tree_.node_of(range); node != npos) return node;
    }
    return npos;
}

// `node`: in the tree; what is not below the row's own node is the row's.
auto step_children::range_child(const step_rows::found_row& row, row_tree::node_id node) -> child_id {
    const child_id root = roots_of(row.row).ranges;
    if (row.node == npos || node == npos || node == row.node) return root;
    const auto key = [&](row_tree::node_id of) { return pair_key(row.row, of); };
    if (const auto known = by_node_.find(key(node)); known != by_node_.end()) return known->second;
    std::vector<row_tree::node_id> path;
    row_tree::node_id at = node;
    for (; at != npos && at != row.node; at = tree_.nodes()[at].parent) path.push_back(at);
    child_id found = root;
    if (at == row.node) {
        for (auto next = path.rbegin(); next != path.rend(); ++next) {
            found = below(found, tree_.nodes()[*next].text, step_row_kind::range);
        }
    }
    by_node_.emplace(key(node), found);
    return found;
}

module_node_id step_children::module_of_name(name_id name) {
    const auto [known, is_new] = module_names_.try_emplace(name, npos);
    if (is_new) known->second = modules_.node_of(data_.name(name));
    return known->second;
}

auto step_children::module_child(step_row_id row, const maker_of_node& made) -> child_id {
    if (made.where != made_in::module) return roots_of(row).modules;
    return module_child_at(row, module_of_name(data_.ranges[made.call].name));
}

// A list of modules, which is never called, is no row: its name is part of the names of what it holds.
auto step_children::module_child_at(step_row_id row, module_node_id module) -> child_id {
    const auto key = [&](module_node_id of) { return pair_key(row, of); };
    if (const auto known = by_module_.find(key(module)); known != by_module_.end()) return known->second;
    std::vector<module_node_id> path;
    for (module_node_id at = module; at != npos; at = modules_.parent(at)) {
        if (at == module || !modules_.at(at).class_name.empty()) path.push_back(at);
    }
    child_id found = roots_of(row).modules;
    std::size_t named = 0;
    for (auto next = path.rbegin(); next != path.rend(); ++next) {
        const std::string_view whole = modules_.at(*next).path;
        found = below(found, whole.substr(std::min(named, whole.size())), step_row_kind::module);
        named = whole.size() + 1;
    }
    by_module_.emplace(key(module), found);
    return found;
}

// The first part of a scope's path is the function, which is the row.
auto step_children::scope_child(child_id inside, module_node_id scope) -> child_id {
    if (scopes_.parent(scope) == npos) return inside;
    const std::uint64_t key = pair_key(inside, scope);
    if (const auto known = by_scope_.find(key); known != by_scope_.end()) return known->second;
    std::vector<module_node_id> path;
    for (module_node_id at = scope; scopes_.parent(at) != npos; at = scopes_.parent(at)) path.push_back(at);
    child_id found = inside;
    for (auto next = path.rbegin(); next != path.rend(); ++next) {
        found = below(found, scopes_.at(*next).part, step_row_kind::scope);
    }
    by_scope_.emplace(key, found);
    return found;
}

const step_children::pair_of_roots& step_children::roots_of(step_row_id row) {
    if (row >= roots_.size()) roots_.resize(row + 1);
    pair_of_roots& of = roots_[row];
    if (of.ranges == npos) {
        of = {children_.end_id(), child_id(children_.size() + 1)};
        children_.resize(children_.size() + 2);
    }
    return of;
}

auto step_children::below(child_id above, std::string_view name, step_row_kind kind) -> child_id {
    if (children_[above].depth == deepest) return above;
    const auto key_of = [&](std::string_view text) {
        return std::to_string(above) + static_cast<char>('a' + static_cast<int>(kind)) + std::string(text);
    };
    std::string key = key_of(name);
    if (const auto known = by_name_.find(key); known != by_name_.end()) return known->second;
    if (by_name_.size() >= most) {
        if (children_[above].name == other_ranges_text) return above;
        name = other_ranges_text;
        key = key_of(name);
        if (const auto known = by_name_.find(key); known != by_name_.end()) return known->second;
    }
    const child_id number = children_.end_id();
    children_.push_back({.name = std::string(name), .kind = kind, .depth = children_[above].depth + 1});
    children_[above].inside.push_back(number);
    by_name_.emplace(std::move(key), number);
    return number;
}

std::vector<step_table_row> step_children::take(step_row_id row) {
    if (row >= roots_.size() || roots_[row].ranges == npos) return {};
    const pair_of_roots of = roots_[row];
    const bool has_modules = !children_[of.modules].inside.empty();
    return made(has_modules ? of.modules : of.ranges).children;
}

// With all that is inside.
step_table_row step_children::made(child_id at) {
    step_table_row out = std::move(children_[at].own);
    out.name = texts_.of(std::move(children_[at].name));
    out.kind = children_[at].kind;
    step_table_row own = out;
    own.name.clear();
    own.kind = step_row_kind::own;
    own.calls = 0;
    own.first_ns = INT64_MAX;
    const auto has_time = [](const step_table_row& row) { return row.busy_ns() != 0 || row.cpu_ns != 0; };
    for (const child_id inside : children_[at].inside) {
        step_table_row made_row = made(inside);
        if (!has_time(made_row) && made_row.calls == 0) continue;
        for (std::size_t i = 0; i < out.ns.size(); ++i) out.ns[i] += made_row.ns[i];
        out.cpu_ns += made_row.cpu_ns;
        out.wait_ns += made_row.wait_ns;
        out.children.push_back(std::move(made_row));
    }
    if (!out.children.empty() && has_time(own)) out.children.push_back(std::move(own));
    std::stable_sort(out.children.begin(), out.children.end(), [](const step_table_row& a, const step_table_row& b) {
        return std::pair(a.busy_ns(), a.cpu_ns) > std::pair(b.busy_ns(), b.cpu_ns);
    });
    return out;
}

}  // namespace prof
