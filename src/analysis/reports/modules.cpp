// SPDX-License-Identifier: Apache-2.0
#include "analysis/reports/modules.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <map>
#include <optional>
#include <utility>

#include "analysis/projection/segment.hpp"
#include "analysis/reports/module_finder.hpp"
#include "analysis/reports/module_tree.hpp"
#include "analysis/reports/reports.hpp"

namespace prof {
namespace {

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

class module_meter {
public:
    module_meter(const timeline& data, const attribution& att, const kept_entities* kept)
        : data_(data), kept_(kept), finder_(data, att), has_phases_(finder_.calls().has_phases()) {}

    bool is_recorded() const { return finder_.is_recorded(); }
    void run(module_times& phases) {
        for (const std::uint32_t call : finder_.calls().calls()) {
            if (has_range(call)) add_call(call);
        }
        for (const std::uint32_t node : finder_.calls().nodes()) {
            if (has_range(node)) add_node(node);
        }
        for (std::uint32_t i = 0; i < data_.ops.size() && !finder_.calls().empty(); ++i) {
            if (has_op(i)) add_op(i, phases);
        }
        for (std::uint32_t i = 0; i < data_.ops.size() && !finder_.paths().empty(); ++i) {
            if (has_op(i)) add_xla_op(i, phases);
        }
        tree.add_up();
        tree.fold();
    }

    bool is_of_xla() const { return finder_.is_of_xla(); }
    bool has_scopes() const { return finder_.has_scopes(); }

    module_tree tree;
    std::int64_t in_no_phase_ns = 0;

private:
    bool has_range(std::uint32_t range) const { return kept_ == nullptr || kept_->ranges[range] != 0; }
    bool has_op(std::size_t op) const { return kept_ == nullptr || kept_->ops[op] != 0; }

    std::uint32_t tree_node_of(const maker_of_node& made) {
        switch (made.where) {
            case made_in::module:
                return tree.node_of(data_.name(data_.ranges[made.call].name));
            case made_in::no_module:
                return tree.node_of(outside_modules_text);
            case made_in::accumulation:
                return tree.node_of(accumulation_text);
            case made_in::unknown:
                break;
        }
        return tree.node_of(unknown_module_text);
    }

    // The innermost phase around a call that modules work in; forward where there is none, as on other threads.
    module_work work_around(std::uint32_t range) const {
        const timeline_range& call = data_.ranges[range];
        if (!has_phases_ && finder_.calls().node_at(call.thread, call.start_ns) != npos) return module_work::recompute;
        for (std::uint32_t i = data_.ranges[range].parent; i != npos; i = data_.ranges[i].parent) {
            if (!is_phase(data_, data_.ranges[i])) continue;
            if (const auto work = module_work_of(data_.name(data_.ranges[i].name))) return *work;
        }
        return module_work::forward;
    }

    void add_call(std::uint32_t call) {
        module_node& node = tree.at(tree_node_of({made_in::module, call}));
        node.calls += 1;
        node.self[static_cast<std::size_t>(work_around(call))].host_ns += finder_.calls().self_ns(call);
    }
    void add_node(std::uint32_t node) {
        module_node& of = tree.at(tree_node_of(finder_.maker_of(node)));
        of.self[static_cast<std::size_t>(module_work::backward)].host_ns += finder_.calls().self_ns(node);
    }

    void add_op(std::uint32_t index, module_times& phases) {
        if (!has_phases_) return add_launched(index, phases);
        const module_phase phase = finder_.phase_of(index);
        if (phase.range == npos || data_.ops[index].launch == npos) return;
        add_time(index, phase.work, tree_node_of(finder_.of_op(index, phase)), phases);
    }
    void add_launched(std::uint32_t index, module_times& phases) {
        if (data_.ops[index].launch == npos) return;
        const module_of_launch of = finder_.of_launch(index);
        if (of.work) add_time(index, *of.work, tree_node_of(of.made), phases);
    }
    void add_xla_op(std::uint32_t index, module_times& phases) {
        const std::optional<module_scopes> scopes = finder_.scopes_of_op(index);
        if (finder_.is_in_no_phase(index)) in_no_phase_ns += data_.ops[index].end_ns - data_.ops[index].start_ns;
        if (scopes) add_time(index, scopes->work, tree.node_of_scopes(finder_.paths()[scopes->path]), phases);
    }
    void add_time(std::uint32_t op, module_work work, std::uint32_t node, module_times& phases) {
        const auto at = static_cast<std::size_t>(work);
        for (module_time* const time : {&tree.at(node).self[at], &phases[at]}) {
            time->gpu_ns += data_.ops[op].end_ns - data_.ops[op].start_ns;
            time->ops += 1;
        }
    }

    const timeline& data_;
    const kept_entities* kept_;
    module_finder finder_;
    bool has_phases_;
};

// By which the slowest is chosen: the GPU's time; where there is none, the host's.
auto cost(const module_times& of) { return std::pair(gpu_ns(of), host_ns(of)); }

// Makes rows of the tree, numbered modules of one list and class being one.
class row_writer {
public:
    row_writer(const module_tree& tree, bool fold, std::vector<module_row>& out)
        : tree_(tree), fold_(fold), out_(out) {}

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

    std::vector<group> children_of(const std::vector<std::uint32_t>& nodes) {
        std::vector<group> out;
        std::map<std::pair<std::string, std::string>, std::size_t> known;
        for (const std::uint32_t node : nodes) {
            for (const std::uint32_t child : tree_.at(node).children) {
                const module_node& at = tree_.at(child);
                const std::string name = fold_ ? tree_.folded_part(child) : at.part;
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
            add_times(out_[row].total, tree_.at(node).total);
            add_times(out_[row].self, tree_.at(node).self);
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

    const module_tree& tree_;
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

// Of functions that compute gradients.
std::string no_phase_note(const module_table& of, std::int64_t in_rows_ns) {
    return fmt::format(
        "{} of these functions' GPU time is in no row, since it is neither forward nor backward, or both: the table of "
        "ranges has it as other, other fusions, or phases with a plus sign",
        fmt::format("{:.1f} %", 100 * static_cast<double>(of.in_no_phase_ns) /
                                    static_cast<double>(of.in_no_phase_ns + in_rows_ns)));
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
    out.is_of_xla = meter.is_of_xla();
    out.has_scopes = meter.has_scopes();
    out.in_no_phase_ns = meter.in_no_phase_ns;
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
    if (!modules.is_recorded) out.notes.push_back("none were recorded: " + std::string(what_records_modules(data)));
    if (left_out != 0) {
        out.notes.push_back(std::to_string(left_out) +
                            " rows of modules that lie deeper are left out; --rows all shows them");
    }
    out.legend = {{"", "Each row has the modules within it."},
                  {"backward", modules.is_of_xla ? "backward: of operations under transpose(jvp(...))."
                                                 : "backward: of the nodes that autograd made in the module's calls."},
                  {"", "* stands for modules of one list and class."}};
    if (modules.is_of_xla) {
        if (!modules.has_scopes) out.notes.emplace_back(no_scopes_text);
        if (modules.in_no_phase_ns > 0) out.notes.push_back(no_phase_note(modules, all_ns));
    }
    return out;
}

}  // namespace prof
