// SPDX-License-Identifier: Apache-2.0
#include "analysis/reports/modules.hpp"

#include <algorithm>
#include <cstddef>
#include <map>
#include <optional>
#include <set>
#include <string_view>
#include <unordered_map>
#include <utility>

#include "analysis/projection/segment.hpp"
#include "analysis/projection/xla_phases.hpp"
#include "analysis/reports/module_calls.hpp"
#include "analysis/reports/reports.hpp"

namespace prof {
namespace {

constexpr std::string_view outside_name = "(outside modules)";
constexpr std::string_view accumulation_name = "(AccumulateGrad)";
constexpr std::string_view unknown_name = "(not known)";

void add(module_times& to, const module_times& what) {
    for (std::size_t i = 0; i < to.size(); ++i) {
        to[i].host_ns += what[i].host_ns;
        to[i].gpu_ns += what[i].gpu_ns;
        to[i].ops += what[i].ops;
    }
}

std::int64_t gpu_ns(const module_times& of) {
    std::int64_t sum = 0;
    for (const module_time& time : of) sum += time.gpu_ns;
    return sum;
}
std::int64_t host_ns(const module_times& of) {
    std::int64_t sum = 0;
    for (const module_time& time : of) sum += time.host_ns;
    return sum;
}

std::optional<module_work> work_of(std::string_view phase) {
    const auto found = std::find(module_work_names.begin(), module_work_names.end(), phase);
    if (found == module_work_names.end()) return {};
    return static_cast<module_work>(found - module_work_names.begin());
}

// A module, or the container of some.
struct tree_node {
    std::string part;  // of the path
    std::string path;
    std::string class_name;
    char separator = '.';                 // of the path's parts; JAX's is '/'
    std::vector<std::uint32_t> children;  // in the order in which they were first called
    std::uint64_t calls = 0;
    module_times self;
    module_times total;
};

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

class tree_builder {
public:
    std::uint32_t node_of(std::string_view name) {
        const auto [known, is_new] = by_name_.try_emplace(std::string(name), 0);
        if (is_new) {
            const auto [path, class_name] = path_and_class(name);
            known->second = node_at(path, separator_of(path, '.'));
            nodes_[known->second].class_name = class_name;
        }
        return known->second;
    }
    std::uint32_t node_at(std::string_view path, char separator) {
        const auto [known, is_new] = by_path_.try_emplace(std::string(path), 0);
        if (!is_new) return known->second;
        const std::size_t end = path.starts_with('(') ? std::string_view::npos : path.rfind(separator);
        const std::uint32_t parent = end == std::string_view::npos ? npos : node_at(path.substr(0, end), separator);
        const auto node = static_cast<std::uint32_t>(nodes_.size());
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
    tree_node& at(std::uint32_t node) { return nodes_[node]; }
    std::vector<std::uint32_t>& roots() { return roots_; }

    // Children stand after their parents.
    void add_up() {
        for (std::size_t i = nodes_.size(); i-- > 0;) {
            add(nodes_[i].total, nodes_[i].self);
            if (parents_[i] != npos) add(nodes_[parents_[i]].total, nodes_[i].total);
        }
    }

private:
    std::vector<tree_node> nodes_;
    std::vector<std::uint32_t> parents_;
    std::vector<std::uint32_t> roots_;
    std::unordered_map<std::string, std::uint32_t> by_name_;
    std::unordered_map<std::string, std::uint32_t> by_path_;
};

class module_meter {
public:
    module_meter(const timeline& data, const attribution& att, const kept_entities* kept)
        : data_(data), att_(att), kept_(kept), calls_(data), xla_(find_xla_operations(data)) {}

    bool is_recorded() const { return !calls_.empty() || !xla_.paths.empty(); }
    void run(module_times& phases) {
        for (const std::uint32_t call : calls_.calls()) {
            if (has_range(call)) add_call(call);
        }
        for (const std::uint32_t node : calls_.nodes()) add_node(node);
        for (std::uint32_t i = 0; i < data_.ops.size() && !calls_.empty(); ++i) {
            if (has_op(i)) add_op(i, phases);
        }
        add_xla(phases);
        tree.add_up();
    }

    tree_builder tree;

private:
    bool has_range(std::uint32_t range) const { return kept_ == nullptr || kept_->ranges[range] != 0; }
    bool has_op(std::size_t op) const { return kept_ == nullptr || kept_->ops[op] != 0; }

    std::uint32_t tree_node_of_call(std::uint32_t call) {
        return tree.node_of(call == npos ? outside_name : data_.name(data_.ranges[call].name));
    }
    std::uint32_t tree_node_of(const maker_of_node& made) {
        switch (made.where) {
            case made_in::module:
                return tree_node_of_call(made.call);
            case made_in::no_module:
                return tree.node_of(outside_name);
            case made_in::accumulation:
                return tree.node_of(accumulation_name);
            case made_in::unknown:
                break;
        }
        return tree.node_of(unknown_name);
    }

    // The innermost phase around a range that modules work in; forward where there is none, as on other threads.
    module_work work_around(std::uint32_t range) const {
        for (std::uint32_t i = data_.ranges[range].parent; i != npos; i = data_.ranges[i].parent) {
            if (!is_phase(data_, data_.ranges[i])) continue;
            if (const auto work = work_of(data_.name(data_.ranges[i].name))) return *work;
        }
        return module_work::forward;
    }

    void add_call(std::uint32_t call) {
        tree_node& node = tree.at(tree_node_of_call(call));
        node.calls += 1;
        node.self[static_cast<std::size_t>(work_around(call))].host_ns += calls_.self_ns(call);
    }
    void add_node(std::uint32_t node) {
        makers_.emplace(node, calls_.maker_of(node));
        if (!has_range(node)) return;
        tree_node& of = tree.at(tree_node_of(makers_.at(node)));
        of.self[static_cast<std::size_t>(module_work::backward)].host_ns += calls_.self_ns(node);
    }

    // A phase that modules work in; `range`: npos without one.
    struct open_phase {
        module_work work = module_work::forward;
        std::uint32_t range = npos;
    };
    open_phase innermost_phase(std::uint32_t op) const {
        open_phase innermost;
        const auto visit = [&](std::uint32_t index) {
            if (innermost.range != npos || !is_phase(data_, data_.ranges[index])) return;
            if (const auto work = work_of(data_.name(data_.ranges[index].name))) innermost = {*work, index};
        };
        for_each_replayed_range(att_, op, [&](std::uint32_t replayed) { visit(att_.replayed[replayed].range); });
        for_each_open_range(data_, att_, op, visit);
        return innermost;
    }

    void add_op(std::uint32_t index, module_times& phases) {
        const gpu_op& op = data_.ops[index];
        const open_phase phase = innermost_phase(index);
        if (phase.range == npos || op.launch == npos) return;
        const auto work = static_cast<std::size_t>(phase.work);
        for (module_time* const time : {&tree.at(tree_node_of_op(op, phase)).self[work], &phases[work]}) {
            time->gpu_ns += op.end_ns - op.start_ns;
            time->ops += 1;
        }
    }
    std::uint32_t tree_node_of_op(const gpu_op& op, const open_phase& phase) {
        std::uint32_t thread = data_.api_calls[op.launch].thread;
        std::int64_t time_ns = data_.api_calls[op.launch].start_ns;
        if (op.graph_node == graph_capture_unseen) return tree.node_of(unknown_name);
        if (op.graph_node != npos) {
            // A replay has the module of the capture.
            const timeline_graph_node& node = data_.graph_nodes[op.graph_node];
            if (node.outside_windows) return tree.node_of(unknown_name);
            thread = node.thread;
            time_ns = node.created_ns;
        }
        if (phase.work != module_work::backward) return tree_node_of_call(calls_.call_at(thread, time_ns));
        const std::uint32_t node = calls_.latest_node_at(thread, time_ns);
        const bool is_known = node != npos && data_.ranges[node].start_ns >= data_.ranges[phase.range].start_ns;
        return is_known ? tree_node_of(makers_.at(node)) : tree.node_of(unknown_name);
    }

    // Of a JAX program: the scopes in the names of XLA's operations. A function without any, as one operation that is
    // called by itself, has no modules.
    void add_xla(module_times& phases) {
        std::set<std::string_view> with_scopes;
        for (const std::string& path : xla_.paths) {
            if (path.find('/') != std::string::npos) with_scopes.insert(function_of(path));
        }
        for (std::size_t i = 0; i < xla_.ops.size(); ++i) {
            const xla_operations::entry& op = xla_.ops[i];
            const auto work = work_of_operation(op);
            if (!work || op.path == npos || !has_op(i)) continue;
            const std::string& path = xla_.paths[op.path];
            if (!op.computes_gradients && !with_scopes.contains(function_of(path))) continue;
            module_time& self =
                tree.at(tree.node_at(path, separator_of(path, '/'))).self[static_cast<std::size_t>(*work)];
            for (module_time* const time : {&self, &phases[static_cast<std::size_t>(*work)]}) {
                time->gpu_ns += data_.ops[i].end_ns - data_.ops[i].start_ns;
                time->ops += 1;
            }
        }
    }
    static std::string_view function_of(const std::string& path) {
        return std::string_view{path}.substr(0, path.find('/'));
    }
    static std::optional<module_work> work_of_operation(const xla_operations::entry& op) {
        switch (op.phase) {
            case xla_phase::forward:
                return module_work::forward;
            case xla_phase::backward:
                return module_work::backward;
            case xla_phase::recompute:
                return module_work::recompute;
            case xla_phase::none:
                break;
        }
        // What a function with gradients does besides, as an optimizer's update, is in no such phase.
        return op.computes_gradients ? std::nullopt : std::optional(module_work::evaluation);
    }

    const timeline& data_;
    const attribution& att_;
    const kept_entities* kept_;
    module_calls calls_;
    xla_operations xla_;
    std::unordered_map<std::uint32_t, maker_of_node> makers_;
};

// By which the slowest is chosen: the GPU's time; where there is none, the host's.
auto cost(const module_times& of) { return std::pair(gpu_ns(of), host_ns(of)); }

bool is_number(std::string_view part) {
    return !part.empty() && part.find_first_not_of("0123456789") == std::string_view::npos;
}

// "Block_" of "Block_3", as JAX's libraries number modules; "" where no number ends it.
std::string stem_of(std::string_view part) {
    const std::size_t end = part.find_last_not_of("0123456789");
    const bool is_numbered = end != std::string_view::npos && end + 1 < part.size() && part[end] == '_' && end > 0;
    return is_numbered ? std::string(part.substr(0, end + 1)) : std::string{};
}

// Makes rows of the tree, numbered modules of one list and class being one.
class row_writer {
public:
    row_writer(tree_builder& tree, bool fold, std::vector<module_row>& out) : tree_(tree), fold_(fold), out_(out) {}

    void write_roots() {
        std::vector<std::uint32_t> roots = tree_.roots();
        std::stable_partition(roots.begin(), roots.end(),
                              [&](std::uint32_t root) { return !tree_.at(root).path.starts_with('('); });
        for (const std::uint32_t root : roots) write({.nodes = {root}, .name = tree_.at(root).part}, npos, {});
    }

private:
    struct group {
        std::vector<std::uint32_t> nodes;  // alike
        std::string name;
    };

    // What stands for a module among others of its list and class, as "*" or "Block_*"; else its own part of the path.
    std::string list_name(std::uint32_t list, std::uint32_t child, bool holds_one_class) {
        const tree_node& at = tree_.at(child);
        if (!fold_) return at.part;
        if (is_number(at.part)) return holds_one_class ? "*" : at.part;
        const std::string stem = stem_of(at.part);
        const auto is_alike = [&](std::uint32_t other) {
            return stem_of(tree_.at(other).part) == stem && tree_.at(other).class_name == at.class_name;
        };
        const auto& children = tree_.at(list).children;
        return !stem.empty() && std::count_if(children.begin(), children.end(), is_alike) > 1 ? stem + '*' : at.part;
    }

    // Several modules, numbered and of one class.
    bool holds_alike(std::uint32_t node) {
        const std::vector<std::uint32_t>& children = tree_.at(node).children;
        return children.size() > 1 && std::all_of(children.begin(), children.end(), [&](std::uint32_t child) {
                   return is_number(tree_.at(child).part) &&
                          tree_.at(child).class_name == tree_.at(children.front()).class_name;
               });
    }

    std::vector<group> children_of(const std::vector<std::uint32_t>& nodes) {
        std::vector<group> out;
        std::map<std::pair<std::string, std::string>, std::size_t> known;
        for (const std::uint32_t node : nodes) {
            const bool holds_one_class = fold_ && holds_alike(node);
            for (const std::uint32_t child : tree_.at(node).children) {
                const tree_node& at = tree_.at(child);
                const std::string name = list_name(node, child, holds_one_class);
                const auto [found, is_new] = known.try_emplace({name, at.class_name}, out.size());
                if (is_new) out.push_back({.nodes = {}, .name = name});
                out[found->second].nodes.push_back(child);
            }
        }
        return out;
    }

    void write(group of, std::uint32_t parent, const std::string& path) {
        // A list is no row of its own where all that it holds is one.
        while (parent != npos && is_list(of)) {
            std::vector<group> within = children_of(of.nodes);
            if (within.size() != 1) break;
            within.front().name = of.name + tree_.at(of.nodes.front()).separator + within.front().name;
            of = std::move(within.front());
        }
        const auto row = static_cast<std::uint32_t>(out_.size());
        out_.push_back({.path = path.empty() ? of.name : path + tree_.at(of.nodes.front()).separator + of.name,
                        .name = of.name,
                        .class_name = tree_.at(of.nodes.front()).class_name,
                        .depth = parent == npos ? 0 : out_[parent].depth + 1,
                        .parent = parent,
                        .modules = of.nodes.size(),
                        .slowest = of.nodes.size() == 1 ? std::string{} : slowest(of.nodes),
                        .calls = calls(of),
                        .total = {},
                        .self = {}});
        for (const std::uint32_t node : of.nodes) {
            add(out_[row].total, tree_.at(node).total);
            add(out_[row].self, tree_.at(node).self);
        }
        const std::string own_path = out_[row].path;
        for (group& child : children_of(of.nodes)) write(std::move(child), row, own_path);
    }

    // It was never called, and has no time of its own.
    bool is_list(const group& of) {
        return calls(of) == 0 && std::all_of(of.nodes.begin(), of.nodes.end(), [&](std::uint32_t node) {
                   return cost(tree_.at(node).self) == std::pair<std::int64_t, std::int64_t>(0, 0);
               });
    }
    std::uint64_t calls(const group& of) {
        std::uint64_t sum = 0;
        for (const std::uint32_t node : of.nodes) sum += tree_.at(node).calls;
        return sum;
    }
    std::string slowest(const std::vector<std::uint32_t>& nodes) {
        return tree_
            .at(*std::max_element(
                nodes.begin(), nodes.end(),
                [&](std::uint32_t a, std::uint32_t b) { return cost(tree_.at(a).total) < cost(tree_.at(b).total); }))
            .path;
    }

    tree_builder& tree_;
    bool fold_;
    std::vector<module_row>& out_;
};

// As deep as there is room for.
std::uint32_t depth_to_show(const std::vector<module_row>& rows, std::size_t most) {
    std::vector<std::size_t> of_depth;
    for (const module_row& row : rows) {
        of_depth.resize(std::max<std::size_t>(of_depth.size(), row.depth + 1));
        ++of_depth[row.depth];
    }
    std::size_t count = 0;
    for (std::uint32_t depth = 0; depth < of_depth.size(); ++depth) {
        count += of_depth[depth];
        if (depth > 1 && count > most) return depth - 1;
    }
    return UINT32_MAX;
}

std::string shown_name(const module_row& row) {
    std::string out(std::size_t{2} * row.depth, ' ');
    out += row.name;
    if (row.modules > 1 && row.name.find('*') != std::string::npos) {
        const std::string& slowest = row.slowest;
        const std::size_t list = slowest.find_last_of("./");
        out += " (" + std::to_string(row.modules) + "; slowest " +
               (list == std::string::npos ? slowest : slowest.substr(list + 1)) + ')';
    }
    return out;
}

table_column time_column(std::string key, std::string title, int importance = 0) {
    return {std::move(key), std::move(title), quantity::time_ns, importance};
}

}  // namespace

module_table measure_modules(const timeline& data, const attribution& att, bool fold, const kept_entities* kept) {
    module_table out;
    module_meter meter(data, att, kept);
    out.is_recorded = meter.is_recorded();
    if (!out.is_recorded) return out;
    meter.run(out.phases);
    row_writer(meter.tree, fold, out.rows).write_roots();
    return out;
}

table modules_report(const report_input& input) {
    attribution_options options = input.projected.attribution;
    options.domains = {};  // the phases are needed, shown or not
    // A part may lack the phases around what it has, so modules are found in the whole.
    const timeline& data = input.selected == nullptr ? input.data : input.selected->recorded();
    const module_table modules =
        measure_modules(data, attribute(data, options), input.projected.fold.mode != fold_mode::none,
                        input.selected == nullptr ? nullptr : &input.selected->kept());

    const bool is_gpu_shown = gpu_ns(modules.phases) > 0;
    const bool has_calls =
        std::any_of(modules.rows.begin(), modules.rows.end(), [](const module_row& row) { return row.calls != 0; });
    table out{"modules",
              is_gpu_shown ? "GPU time by module" : "Host time by module",
              {{"path", ""},
               {"", "module"},
               {"class", has_calls ? "class" : "", quantity::text, 5},
               {"modules", "", quantity::count},
               {"calls", has_calls ? "calls" : "", quantity::count, 4}},
              {},
              {}};
    const std::int64_t all_ns = gpu_ns(modules.phases);
    const auto has_gpu = [&](std::size_t work) { return modules.phases[work].ops != 0; };
    const auto has_host = [&](std::size_t work) {
        return std::any_of(modules.rows.begin(), modules.rows.end(),
                           [&](const module_row& row) { return row.self[work].host_ns != 0; });
    };
    for (std::size_t i = 0; i < modules.phases.size(); ++i) {
        const std::string name = module_work_names[i];
        out.columns.push_back(time_column(name + "_gpu_ns", has_gpu(i) ? name : ""));
        out.totals.emplace_back(name + "_gpu_ns", modules.phases[i].gpu_ns);
    }
    out.columns.push_back(time_column("gpu_ns", is_gpu_shown ? "GPU" : ""));
    out.columns.push_back({"gpu_share", is_gpu_shown ? "GPU %" : "", quantity::share, 1});
    out.columns.push_back(time_column("gpu_self_ns", is_gpu_shown ? "self" : "", 3));
    for (std::size_t i = 0; i < modules.phases.size(); ++i) {
        const std::string name = module_work_names[i];
        out.columns.push_back(time_column(name + "_host_ns", has_host(i) ? "host " + name : "", is_gpu_shown ? 2 : 0));
    }
    out.columns.push_back({"slowest", "", quantity::text});

    const std::uint32_t deepest = std::min(input.deepest, depth_to_show(modules.rows, input.rows));
    std::size_t left_out = 0;
    for (const module_row& row : modules.rows) {
        if (row.depth > deepest) {
            ++left_out;
            continue;
        }
        std::vector<table_cell> cells = {row.path, shown_name(row), row.class_name, row.modules, row.calls};
        for (const module_time& time : row.total) cells.emplace_back(time.gpu_ns);
        const std::int64_t row_ns = gpu_ns(row.total);
        cells.emplace_back(row_ns);
        cells.emplace_back(all_ns > 0 ? static_cast<double>(row_ns) / static_cast<double>(all_ns) : 0.0);
        cells.emplace_back(gpu_ns(row.self));
        for (const module_time& time : row.total) cells.emplace_back(time.host_ns);
        cells.emplace_back(row.slowest);
        out.rows.push_back(std::move(cells));
    }
    if (!modules.is_recorded) out.notes.emplace_back("none were recorded: prof run --modules records them");
    if (left_out != 0) {
        out.notes.push_back(std::to_string(left_out) +
                            " rows of modules that lie deeper are left out; --rows all shows them");
    }
    out.legend = {{"", "Each row has the modules within it."},
                  {"backward", "backward: of the nodes that autograd made in the module's calls."},
                  {"", "* stands for modules of one list and class."}};
    return out;
}

}  // namespace prof
