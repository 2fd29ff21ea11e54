// SPDX-License-Identifier: Apache-2.0
#include "export/report/screen/screen_tree.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <optional>
#include <string_view>
#include <utility>

#include "base/display_text.hpp"
#include "base/json_text.hpp"

namespace prof {
namespace {

constexpr double nearly_all = 0.95;  // of its parent: a child that shares the parent's line
constexpr double slower = 1.5;       // times the median of those alike: a row of its own
constexpr std::size_t least_alike = 3;

// A name without its number: "layer 7" is {"layer ", 7, ""}. The last number counts.
struct numbered_name {
    std::string_view before{};
    std::uint64_t number = 0;
    std::string_view behind{};
};

std::optional<numbered_name> last_number_in(std::string_view name) {
    constexpr std::string_view digits = "0123456789";
    const std::size_t last = name.find_last_of(digits);
    if (last == std::string_view::npos) return {};
    const std::size_t before = name.find_last_not_of(digits, last);
    const std::size_t first = before == std::string_view::npos ? 0 : before + 1;
    constexpr std::size_t most_digits = 18;
    if (last + 1 - first > most_digits) return {};
    numbered_name out{name.substr(0, first), 0, name.substr(last + 1)};
    for (const char digit : name.substr(first, last + 1 - first)) {
        out.number = out.number * 10 + static_cast<std::uint64_t>(digit - '0');
    }
    return out;
}

std::int64_t weight_of(const step_table_row& row) noexcept {
    const std::int64_t total_ns = row.total_ns();
    return total_ns != 0 ? total_ns : row.cpu_ns;
}

void sort_by_weight(std::vector<screen_node>& nodes) {
    std::stable_sort(nodes.begin(), nodes.end(), [](const screen_node& a, const screen_node& b) {
        return weight_of(a.figures) > weight_of(b.figures);
    });
}

void add_figures(step_table_row& to, const step_table_row& from) {
    for (std::size_t i = 0; i < to.ns.size(); ++i) to.ns[i] += from.ns[i];
    to.calls += from.calls;
    to.first_ns = std::min(to.first_ns, from.first_ns);
    to.cpu_ns += from.cpu_ns;
    to.wait_ns += from.wait_ns;
}

class tree_maker {
public:
    tree_maker(bool has_steps, const tree_names& names) : has_steps_(has_steps), names_(names) {}

    std::vector<screen_node> nodes_of(const std::vector<step_table_row>& rows) const {
        std::vector<screen_node> out;
        out.reserve(rows.size());
        for (const step_table_row& row : rows) {
            screen_node node{.name = shown_row_name(row, has_steps_),
                             .figures = without_children(row),
                             .children = nodes_of(row.children)};
            out.push_back(std::move(node));
        }
        merge_alike(out);
        for (screen_node& node : out) {
            node.own_name = node.name;
            if (names_.joins) join_single_child(node);
        }
        return out;
    }

private:
    static step_table_row without_children(const step_table_row& row) {
        step_table_row out;
        out.name = row.name;
        out.kind = row.kind;
        add_figures(out, row);
        return out;
    }

    // Siblings that differ by a number, and have the same children, are alike.
    static std::string kind_of(const screen_node& node, const numbered_name& name) {
        std::string out = fmt::format("{}\n{}\n{}", static_cast<int>(node.figures.kind), name.before, name.behind);
        std::vector<std::string_view> children;
        children.reserve(node.children.size());
        for (const screen_node& child : node.children) children.push_back(child.name);
        std::sort(children.begin(), children.end());
        for (const std::string_view child : children) out.append("\n").append(child);
        return out;
    }

    void merge_alike(std::vector<screen_node>& nodes) const {
        std::map<std::string, std::vector<std::size_t>> groups;
        for (std::size_t i = 0; i < nodes.size(); ++i) {
            if (nodes[i].figures.kind == step_row_kind::own || nodes[i].figures.kind == step_row_kind::rest) continue;
            if (const auto name = last_number_in(nodes[i].name)) groups[kind_of(nodes[i], *name)].push_back(i);
        }
        std::vector<bool> is_merged(nodes.size(), false);
        std::vector<screen_node> merged;
        for (auto& [kind, group] : groups) {
            drop_others(nodes, group);
            if (group.size() < least_alike) continue;
            merged.push_back(merge(nodes, group));
            for (const std::size_t i : group) is_merged[i] = true;
        }
        if (merged.empty()) return;
        for (std::size_t i = 0; i < nodes.size(); ++i) {
            if (!is_merged[i]) merged.push_back(std::move(nodes[i]));
        }
        sort_by_weight(merged);
        nodes = std::move(merged);
    }

    // One that differs stays a row, so that it is seen.
    static void drop_others(const std::vector<screen_node>& nodes, std::vector<std::size_t>& group) {
        if (group.size() < least_alike) return;
        std::vector<std::int64_t> weights;
        weights.reserve(group.size());
        for (const std::size_t i : group) weights.push_back(weight_of(nodes[i].figures));
        std::nth_element(weights.begin(), weights.begin() + static_cast<std::ptrdiff_t>(weights.size() / 2),
                         weights.end());
        const auto middle = static_cast<double>(weights[weights.size() / 2]);
        std::erase_if(group, [&](std::size_t i) {
            const auto weight = static_cast<double>(weight_of(nodes[i].figures));
            return weight > slower * middle || slower * weight < middle;
        });
    }

    screen_node merge(const std::vector<screen_node>& nodes, const std::vector<std::size_t>& group) const {
        screen_node out;
        std::uint64_t first = UINT64_MAX;
        std::uint64_t last = 0;
        std::map<std::string, std::size_t> places;  // children by name
        for (const std::size_t i : group) {
            const std::uint64_t number = last_number_in(nodes[i].name)->number;
            first = std::min(first, number);
            last = std::max(last, number);
            add_figures(out.figures, nodes[i].figures);
            add_children(out.children, nodes[i].children, places);
        }
        const screen_node& one = nodes[group.front()];
        const numbered_name name = *last_number_in(one.name);
        out.figures.kind = one.figures.kind;
        out.name = fmt::format("{}{}{}{}{} {}{}", name.before, first, names_.is_ascii ? " ~ " : " … ", last,
                               name.behind, names_.is_ascii ? "x" : "×", group.size());
        sort_children(out);
        return out;
    }

    static void add_children(std::vector<screen_node>& to, const std::vector<screen_node>& from,
                             std::map<std::string, std::size_t>& places) {
        for (const screen_node& child : from) {
            const auto [known, is_new] = places.try_emplace(child.name, to.size());
            if (is_new) {
                to.push_back(child);
                continue;
            }
            screen_node& into = to[known->second];
            add_figures(into.figures, child.figures);
            std::map<std::string, std::size_t> deeper;
            for (std::size_t i = 0; i < into.children.size(); ++i) deeper.emplace(into.children[i].name, i);
            add_children(into.children, child.children, deeper);
        }
    }

    static void sort_children(screen_node& node) {
        sort_by_weight(node.children);
        for (screen_node& child : node.children) sort_children(child);
    }

    void join_single_child(screen_node& node) const {
        while (!node.children.empty()) {
            screen_node& child = node.children.front();
            if (child.figures.kind == step_row_kind::own) return;
            const auto whole = static_cast<double>(node.figures.busy_ns());
            if (!(whole > 0) || static_cast<double>(child.figures.busy_ns()) < nearly_all * whole) return;
            // The model around all of its modules says nothing.
            const bool is_model = node.figures.kind == step_row_kind::phase &&
                                  child.figures.kind == step_row_kind::module && !child.children.empty();
            std::string name = node.name + ": " + child.own_name;
            if (!is_model && display_width(name) > names_.longest) return;
            if (!is_model) node.name = std::move(name);
            std::vector<screen_node> inner = std::move(child.children);
            if (!inner.empty()) add_siblings(node.children, inner);
            node.children = std::move(inner);
        }
    }

    // The rows beside the joined one are the line's, too: what stands below it adds up to it.
    static void add_siblings(std::vector<screen_node>& all, std::vector<screen_node>& to) {
        for (std::size_t i = 1; i < all.size(); ++i) {
            const auto own = std::find_if(to.begin(), to.end(), [&](const screen_node& node) {
                return node.figures.kind == step_row_kind::own && all[i].figures.kind == step_row_kind::own;
            });
            if (own != to.end()) {
                add_figures(own->figures, all[i].figures);
            } else {
                to.push_back(std::move(all[i]));
            }
        }
        sort_by_weight(to);
    }

    bool has_steps_;
    const tree_names& names_;
};

}  // namespace

bool is_loader(const step_table_row& row) { return row.kind == step_row_kind::phase && row.name == "data"; }

std::string row_name(const step_table_row& row, bool has_steps) {
    if (row.kind == step_row_kind::rest) return has_steps ? "rest of the step" : "outside ranges";
    if (row.kind == step_row_kind::own) return "its own";
    if (is_loader(row)) return "data loader";
    std::string_view name = row.name;
    for (const std::string_view prefix : {"Optimizer.step#", "Optimizer.zero_grad#", "enumerate(DataLoader)#"}) {
        if (name.starts_with(prefix)) name.remove_prefix(prefix.size());
    }
    return std::string(name);
}

std::string shown_row_name(const step_table_row& row, bool has_steps) {
    return terminal_safe(row_name(row, has_steps));
}

std::vector<screen_node> screen_tree(const step_table& of, const tree_names& names) {
    return tree_maker(of.has_steps, names).nodes_of(of.rows);
}

}  // namespace prof
