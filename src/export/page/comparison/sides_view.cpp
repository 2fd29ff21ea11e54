// SPDX-License-Identifier: Apache-2.0
// The trees of ranges of both sides, side by side: their GPU time in a step.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "export/page/comparison/comparison_views.hpp"
#include "export/page/page_text.hpp"

namespace prof {
namespace {

struct side_node {
    std::string name{};
    double base_ns = 0;
    double new_ns = 0;
    bool is_in_base = false;
    bool is_in_new = false;
    std::vector<side_node> children{};
};

side_node& child_named(side_node& of, const std::string& name) {
    const auto found =
        std::find_if(of.children.begin(), of.children.end(), [&](const side_node& one) { return one.name == name; });
    if (found != of.children.end()) return *found;
    return of.children.emplace_back(side_node{.name = name});
}

// Slashes of names are escaped in paths, so that each one divides.
side_node tree_of(const std::vector<compared_cost>& ranges) {
    side_node out;
    for (const compared_cost& range : ranges) {
        side_node* at = &out;
        for (std::size_t begin = 0; begin <= range.name.size();) {
            const std::size_t end = std::min(range.name.find('/', begin), range.name.size());
            at = &child_named(*at, range.name.substr(begin, end - begin));
            begin = end + 1;
        }
        at->base_ns += range.base_amount;
        at->new_ns += range.new_amount;
        at->is_in_base |= range.is_in_base;
        at->is_in_new |= range.is_in_new;
    }
    return out;
}

void sort(side_node& of) {
    std::stable_sort(of.children.begin(), of.children.end(), [](const side_node& a, const side_node& b) {
        return std::max(a.base_ns, a.new_ns) > std::max(b.base_ns, b.new_ns);
    });
    for (side_node& child : of.children) sort(child);
}

page_json json_of(const side_node& of) {
    page_json out{{"name", page_label(page_name(of.name))},
                  {"base_ns", of.is_in_base ? page_json(std::llround(of.base_ns)) : page_json()},
                  {"new_ns", of.is_in_new ? page_json(std::llround(of.new_ns)) : page_json()}};
    if (!of.children.empty()) {
        page_json& children = out["children"] = page_json::array();
        for (const side_node& child : of.children) children.push_back(json_of(child));
    }
    return out;
}

void add_rows(const side_node& of, std::size_t depth, const comparison_page_input& input, page_table& to) {
    constexpr std::size_t most_rows = 60;
    for (const side_node& child : of.children) {
        if (to.rows.size() == most_rows) return;
        std::string indent;
        for (std::size_t i = 0; i < depth; ++i) indent += "\u2003";
        to.rows.push_back(
            {indent + page_label(page_name(child.name)), child.is_in_base ? input.text(child.base_ns) : "–",
             child.is_in_new ? input.text(child.new_ns) : "–", input.change(child.new_ns - child.base_ns)});
        add_rows(child, depth + 1, input, to);
    }
}

}  // namespace

page_view make_sides_view(const comparison_page_input& input) {
    page_view out{.name = "sides", .heading = "Ranges, side by side", .link = "Ranges"};
    side_node root = tree_of(input.of.ranges);
    const bool has_time = std::any_of(root.children.begin(), root.children.end(),
                                      [](const side_node& one) { return one.base_ns > 0 || one.new_ns > 0; });
    if (!has_time) {
        out.why = "No range has GPU time.";
        return out;
    }
    sort(root);
    out.lead.push_back("GPU time of a step, of the work that was launched in each range.");
    out.data = page_json::object();
    page_json& nodes = out.data["nodes"] = page_json::array();
    for (const side_node& child : root.children) nodes.push_back(json_of(child));
    page_table table{.caption = fmt::format("GPU time of a step by range, in {}", input.unit.name),
                     .columns = {{"range"}, {"base", true}, {"new", true}, {"change", true}}};
    add_rows(root, 0, input, table);
    out.blocks.emplace_back(std::move(table));
    return out;
}

}  // namespace prof
