// SPDX-License-Identifier: Apache-2.0
// Which part of the program needs the GPU, and which the host: the tree of the first screen, with forward and backward
// side by side.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <numeric>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "export/page/page_text.hpp"
#include "export/page/page_views.hpp"

namespace prof {
namespace {

constexpr std::size_t most_nodes = 1'500;
constexpr double least_node = 0.0005;  // of the step

enum side : std::size_t { forward, backward, others };
using by_side = std::array<std::int64_t, 3>;

struct where_node {
    std::string name{};
    std::string kind{};
    by_side gpu_ns{};  // in all steps
    by_side host_ns{};
    std::int64_t wait_ns = 0;
    std::uint64_t calls = 0;
    std::int64_t first_ns = INT64_MAX;
    std::vector<where_node> children{};

    std::int64_t gpu_sum() const { return std::accumulate(gpu_ns.begin(), gpu_ns.end(), std::int64_t{0}); }
    std::int64_t host_sum() const { return std::accumulate(host_ns.begin(), host_ns.end(), std::int64_t{0}); }
};

std::string_view kind_name(step_row_kind kind) noexcept {
    constexpr std::string_view names[] = {"phase", "rest", "range", "module", "scope", "own"};
    return names[static_cast<std::size_t>(kind)];
}

where_node node_of(const screen_node& from, side at) {
    where_node out{.name = page_label(from.name), .kind = std::string(kind_name(from.figures.kind))};
    out.gpu_ns[at] = from.figures.busy_ns();
    out.host_ns[at] = from.figures.cpu_ns;
    out.wait_ns = from.figures.wait_ns;
    out.calls = from.figures.calls;
    out.first_ns = from.figures.first_ns;
    for (const screen_node& child : from.children) out.children.push_back(node_of(child, at));
    return out;
}

// Children of one name and kind become one.
void merge(where_node& to, const where_node& from) {
    for (std::size_t i = 0; i < to.gpu_ns.size(); ++i) {
        to.gpu_ns[i] += from.gpu_ns[i];
        to.host_ns[i] += from.host_ns[i];
    }
    to.wait_ns += from.wait_ns;
    to.calls += from.calls;
    to.first_ns = std::min(to.first_ns, from.first_ns);
    std::unordered_map<std::string, std::size_t> places;
    const auto key = [](const where_node& node) { return node.kind + '\n' + node.name; };
    for (std::size_t i = 0; i < to.children.size(); ++i) places.emplace(key(to.children[i]), i);
    for (const where_node& child : from.children) {
        const auto [known, is_new] = places.try_emplace(key(child), to.children.size());
        if (is_new) {
            to.children.push_back(child);
        } else {
            merge(to.children[known->second], child);
        }
    }
}

void sort_children(where_node& node, bool has_gpu) {
    std::stable_sort(node.children.begin(), node.children.end(), [&](const where_node& a, const where_node& b) {
        const auto weight = [&](const where_node& of) { return has_gpu ? of.gpu_sum() : of.host_sum(); };
        return std::pair(weight(a), a.host_sum()) > std::pair(weight(b), b.host_sum());
    });
    for (where_node& child : node.children) sort_children(child, has_gpu);
}

std::optional<side> side_of(const screen_node& node) {
    if (node.figures.kind != step_row_kind::phase) return {};
    if (node.figures.name == "forward") return forward;
    if (node.figures.name == "backward" || node.figures.name == "recompute") return backward;
    return {};
}

class where_view {
public:
    explicit where_view(const page_input& input) : step_(input.step) {}

    page_view run() {
        page_view out{.name = "where",
                      .heading = "Where the time goes in the program",
                      .link = "Where",
                      .data = page_json::object()};
        where_node root = make_tree();
        if (root.children.size() < 2 && (root.children.empty() || root.children.front().children.empty())) {
            out.why =
                "No ranges, phases or modules were recorded: prof run marks the phases of PyTorch and JAX by itself, "
                "and ranges of NVTX are recorded from any program.";
            out.data["why"] = out.why;
            return out;
        }
        out.data["step_ns"] = step_.whole_ns(step_.step_ns);
        out.data["busy_ns"] = step_.whole_ns(step_.has_gpu ? step_.gpu(root.gpu_sum()) : 0);
        out.data["model"] = {"forward", "backward"};
        out.data["nodes"] = node_json(root, 0);
        out.blocks.emplace_back(table_of(root));
        return out;
    }

private:
    where_node make_tree() {
        where_node root{.name = step_.has_steps ? "step" : "recording", .kind = "step"};
        where_node model{.name = "model: forward + backward", .kind = "model"};
        // Where both have modules, or ranges of one name, they are shown side by side.
        std::array<std::set<std::string_view>, 2> names;
        for (const screen_node& node : step_.tree) {
            const std::optional<side> at = side_of(node);
            if (!at) continue;
            for (const screen_node& child : node.children) {
                if (child.figures.kind != step_row_kind::own) names[*at].insert(child.name);
            }
        }
        // What a jitted function has of both, as phases of its own.
        const auto is_side = [](const screen_node& node, std::string_view name) {
            return node.figures.kind == step_row_kind::range && node.own_name == name;
        };
        const auto inner_side = [&](const screen_node& node) -> std::optional<side> {
            if (is_side(node, "forward")) return forward;
            if (is_side(node, "backward") || is_side(node, "recompute")) return backward;
            return {};
        };
        const bool has_model = std::any_of(names[forward].begin(), names[forward].end(),
                                           [&](std::string_view name) { return names[backward].contains(name); });
        for (const screen_node& node : step_.tree) {
            const std::optional<side> at = side_of(node);
            where_node made = node_of(node, at.value_or(others));
            if (!at) {
                std::set<side> found;
                for (const screen_node& child : node.children) {
                    if (const auto inner = inner_side(child)) found.insert(*inner);
                }
                if (found.size() == 2) make_model_in(made, node, inner_side);
            }
            if (at && has_model) {
                merge(model, made);
            } else {
                root.children.push_back(std::move(made));
            }
        }
        if (has_model) root.children.push_back(std::move(model));
        for (where_node& child : root.children) join(child);
        for (where_node& child : root.children) name_own(child);
        sort_children(root, step_.has_gpu);
        begin_ns_ = INT64_MAX;
        for (const where_node& child : root.children) begin_ns_ = std::min(begin_ns_, child.first_ns);
        for (const where_node& child : root.children) {
            for (std::size_t i = 0; i < root.gpu_ns.size(); ++i) {
                root.gpu_ns[i] += child.gpu_ns[i];
                root.host_ns[i] += child.host_ns[i];
            }
            root.wait_ns += child.wait_ns;
        }
        return root;
    }

    // The children forward and backward of a node as one, and the node's own time by side.
    template <typename TSideOf>
    static void make_model_in(where_node& node, const screen_node& from, TSideOf&& side_of_child) {
        where_node model{.name = "model: forward + backward", .kind = "model"};
        std::vector<where_node> children;
        for (const screen_node& child : from.children) {
            const std::optional<side> at = side_of_child(child);
            if (at) {
                merge(model, node_of(child, *at));
            } else {
                children.push_back(node_of(child, others));
            }
        }
        for (const side at : {forward, backward}) {
            node.gpu_ns[at] += model.gpu_ns[at];
            node.gpu_ns[others] -= model.gpu_ns[at];
        }
        children.push_back(std::move(model));
        node.children = std::move(children);
    }

    // A child with nearly all of its parent's time shares its line, and what is inside of both stands side by side.
    void join(where_node& node) const {
        constexpr double nearly_all = 0.9;
        constexpr std::size_t longest = 60;
        const auto weight = [&](const where_node& of) {
            return static_cast<double>(step_.has_gpu ? of.gpu_sum() : of.host_sum());
        };
        while (true) {
            const auto most =
                std::max_element(node.children.begin(), node.children.end(),
                                 [&](const where_node& a, const where_node& b) { return weight(a) < weight(b); });
            if (most == node.children.end() || most->kind == "own" || most->children.empty()) break;
            if (!(weight(node) > 0) || weight(*most) < nearly_all * weight(node)) break;
            if (most->name.find(" ×") != std::string::npos) break;  // their number is worth a line
            std::string name = node.name + " / " + most->name;
            // The model around all of its modules says nothing.
            if (node.kind != "model" && node.kind != "phase") {
                if (name.size() > longest) break;
                node.name = std::move(name);
            }
            where_node inner = std::move(*most);
            node.children.erase(most);
            where_node own{.name = "its own", .kind = "own"};
            for (where_node& child : inner.children) {
                if (child.kind == "own") {
                    merge(own, child);
                } else {
                    node.children.push_back(std::move(child));
                }
            }
            const auto known = std::find_if(node.children.begin(), node.children.end(),
                                            [](const where_node& child) { return child.kind == "own"; });
            if (known != node.children.end()) {
                merge(*known, own);
            } else if (own.gpu_sum() != 0 || own.host_sum() != 0) {
                node.children.push_back(std::move(own));
            }
        }
        for (where_node& child : node.children) join(child);
    }

    // Modules have the CPU's time of forward; that of backward is no module's, and lies with what is the model's own.
    static void name_own(where_node& node) {
        if (node.kind != "model") {
            for (where_node& child : node.children) name_own(child);
            return;
        }
        const bool is_known = std::any_of(node.children.begin(), node.children.end(), [](const where_node& child) {
            return child.kind != "own" && child.host_ns[backward] != 0;
        });
        for (where_node& child : node.children) {
            if (child.kind == "own" && child.host_ns[backward] != 0 && !is_known)
                child.name = "its own, and CPU of backward";
        }
    }

    page_json sides(const by_side& ns, bool on_gpu) const {
        page_json out = page_json::array();
        for (const std::int64_t each : ns) out.push_back(step_.whole_ns(on_gpu ? step_.gpu(each) : step_.cpu(each)));
        return out;
    }

    page_json node_json(const where_node& of, std::size_t depth) {
        ++nodes_;
        page_json out{{"name", of.name}, {"kind", of.kind}};
        constexpr std::string_view times = " ×";
        if (const std::size_t at = of.name.rfind(times); at != std::string::npos) {
            const std::string count = of.name.substr(at + times.size());
            if (!count.empty() && count.size() < 9 && count.find_first_not_of("0123456789") == std::string::npos) {
                out["times"] = std::stoul(count);
            }
        }
        out["gpu_ns"] = sides(of.gpu_ns, true);
        // The host's time of what another thread works on is not known.
        out["host_ns"] = depth > 1 && of.host_sum() == 0 ? page_json() : sides(of.host_ns, false);
        out["wait_ns"] = step_.whole_ns(step_.cpu(of.wait_ns));
        out["calls"] = static_cast<double>(of.calls) / step_.count;
        if (of.first_ns != INT64_MAX) out["first_ns"] = of.first_ns - begin_ns_;
        if (of.children.empty()) return out;
        page_json children = page_json::array();
        where_node more{.kind = "more"};
        std::size_t folded = 0;
        for (const where_node& child : of.children) {
            const double ns = std::max(step_.gpu(child.gpu_sum()), step_.cpu(child.host_sum()));
            if (nodes_ < most_nodes && (ns >= least_node * step_.step_ns || depth == 0)) {
                children.push_back(node_json(child, depth + 1));
                continue;
            }
            ++folded;
            where_node without = child;
            without.children.clear();
            merge(more, without);
        }
        if (folded != 0) {
            more.name = fmt::format("others ({})", folded);
            ++nodes_;
            children.push_back(node_json(more, depth + 1));
        }
        out["children"] = std::move(children);
        return out;
    }

    void add_rows(const where_node& of, std::size_t depth, page_table& to) const {
        constexpr std::size_t most_rows = 40;
        constexpr std::size_t deepest = 4;
        // Small ones are one row, so that those below a part add up to it.
        std::vector<where_node> shown;
        where_node small{.kind = "more"};
        std::vector<const where_node*> folded;
        for (const where_node& child : of.children) {
            const double gpu_ns = step_.gpu(child.gpu_sum());
            const double host_ns = step_.cpu(child.host_sum());
            constexpr double least = 0.01;
            if (depth > 0 && std::max(gpu_ns, step_.has_gpu ? 0.0 : host_ns) < least * step_.step_ns) {
                folded.push_back(&child);
                where_node without = child;
                without.children.clear();
                merge(small, without);
            } else {
                shown.push_back(child);
            }
        }
        if (folded.size() == 1) {
            shown.push_back(*folded.front());
        } else if (!folded.empty()) {
            small.name = fmt::format("others ({})", folded.size());
            shown.push_back(std::move(small));
        }
        if (depth > 0 && to.rows.size() + shown.size() > most_rows) return;
        for (const where_node& child : shown) {
            const double gpu_ns = step_.gpu(child.gpu_sum());
            const double host_ns = step_.cpu(child.host_sum());
            std::string name;
            for (std::size_t i = 0; i < depth; ++i) name += "\u2003";
            std::vector<std::string> cells{name + child.name};
            if (step_.has_gpu) {
                cells.push_back(step_.text(gpu_ns));
                for (const side at : {forward, backward}) {
                    cells.push_back(child.gpu_ns[at] == 0 ? "" : step_.text(step_.gpu(child.gpu_ns[at])));
                }
            }
            cells.push_back(child.host_sum() == 0 ? "" : step_.text(host_ns));
            to.rows.push_back(std::move(cells));
            if (depth + 1 < deepest) add_rows(child, depth + 1, to);
        }
    }

    page_table table_of(const where_node& root) const {
        page_table out{.caption = fmt::format("{} a step, by part of the program", step_.unit.name),
                       .columns = {{"part"}}};
        if (step_.has_gpu) {
            for (const char* const title : {"GPU", "of it forward", "backward"}) out.columns.push_back({title, true});
        }
        out.columns.push_back({"CPU", true});
        add_rows(root, 0, out);
        return out;
    }

    const page_step& step_;
    std::size_t nodes_ = 0;
    std::int64_t begin_ns_ = INT64_MAX;  // when the first of the nodes began
};

}  // namespace

page_view make_where_view(const page_input& input) { return where_view(input).run(); }

}  // namespace prof
