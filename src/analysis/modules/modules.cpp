// SPDX-License-Identifier: Apache-2.0
#include "analysis/modules/modules.hpp"

#include <algorithm>
#include <cstddef>
#include <map>
#include <optional>
#include <utility>

#include "analysis/modules/module_finder.hpp"
#include "analysis/modules/module_tree.hpp"
#include "analysis/projection/segment.hpp"

namespace prof {
namespace {

class module_meter {
public:
    module_meter(const timeline& data, const attribution& att, const kept_entities* kept)
        : data_(data), kept_(kept), finder_(data, att), has_phases_(finder_.calls().has_phases()) {}

    bool is_recorded() const { return finder_.is_recorded(); }
    void run(module_times& phases) {
        for (const range_id call : finder_.calls().calls()) {
            if (has_range(call)) add_call(call);
        }
        for (const range_id node : finder_.calls().nodes()) {
            if (has_range(node)) add_node(node);
        }
        for (op_id i{0}; i < data_.ops.size() && !finder_.calls().empty(); ++i) {
            if (has_op(i)) add_op(i, phases);
        }
        for (op_id i{0}; i < data_.ops.size() && !finder_.paths().empty(); ++i) {
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
    bool has_range(range_id range) const { return kept_ == nullptr || kept_->ranges[range] != 0; }
    bool has_op(op_id op) const { return kept_ == nullptr || kept_->ops[op] != 0; }

    module_node_id tree_node_of(const maker_of_node& made) {
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
    module_work work_around(range_id range) const {
        const timeline_range& call = data_.ranges[range];
        if (!has_phases_ && finder_.calls().node_at(call.thread, call.start_ns) != npos) return module_work::recompute;
        for (range_id i = data_.ranges[range].parent; i != npos; i = data_.ranges[i].parent) {
            if (!is_phase(data_, data_.ranges[i])) continue;
            if (const auto work = module_work_of(data_.name(data_.ranges[i].name))) return *work;
        }
        return module_work::forward;
    }

    void add_call(range_id call) {
        module_node& node = tree.at(tree_node_of({made_in::module, call}));
        node.calls += 1;
        node.self[static_cast<std::size_t>(work_around(call))].host_ns += finder_.calls().self_ns(call);
    }
    void add_node(range_id node) {
        module_node& of = tree.at(tree_node_of(finder_.maker_of(node)));
        of.self[static_cast<std::size_t>(module_work::backward)].host_ns += finder_.calls().self_ns(node);
    }

    void add_op(op_id index, module_times& phases) {
        if (!has_phases_) return add_launched(index, phases);
        const module_phase phase = finder_.phase_of(index);
        if (phase.range == npos || data_.ops[index].launch == npos) return;
        add_time(index, phase.work, tree_node_of(finder_.of_op(index, phase)), phases);
    }
    void add_launched(op_id index, module_times& phases) {
        if (data_.ops[index].launch == npos) return;
        const module_of_launch of = finder_.of_launch(index);
        if (of.work) add_time(index, *of.work, tree_node_of(of.made), phases);
    }
    void add_xla_op(op_id index, module_times& phases) {
        const std::optional<module_scopes> scopes = finder_.scopes_of_op(index);
        if (finder_.is_in_no_phase(index)) in_no_phase_ns += data_.ops[index].end_ns - data_.ops[index].start_ns;
        if (scopes) add_time(index, scopes->work, tree.node_of_scopes(finder_.paths()[scopes->path]), phases);
    }
    void add_time(op_id op, module_work work, module_node_id node, module_times& phases) {
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
        std::vector<module_node_id> roots = tree_.roots();
        std::stable_partition(roots.begin(), roots.end(),
                              [&](module_node_id root) { return !tree_.at(root).path.starts_with('('); });
        for (const module_node_id root : roots) write({.nodes = {root}, .name = tree_.at(root).part}, npos, {});
    }

private:
    struct group {
        std::vector<module_node_id> nodes;  // alike
        std::string name;
    };

    std::vector<group> children_of(const std::vector<module_node_id>& nodes) {
        std::vector<group> out;
        std::map<std::pair<std::string, std::string>, std::size_t> known;
        for (const module_node_id node : nodes) {
            for (const module_node_id child : tree_.at(node).children) {
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
        for (const module_node_id node : of.nodes) {
            add_times(out_[row].total, tree_.at(node).total);
            add_times(out_[row].self, tree_.at(node).self);
        }
        const std::string own_path = out_[row].path;
        for (group& child : children_of(of.nodes)) write(std::move(child), row, own_path);
    }

    // It was never called, and has no time of its own.
    bool is_list(const group& of) {
        return calls(of) == 0 && std::all_of(of.nodes.begin(), of.nodes.end(), [&](module_node_id node) {
                   return cost(tree_.at(node).self) == std::pair<std::int64_t, std::int64_t>(0, 0);
               });
    }
    std::uint64_t calls(const group& of) {
        std::uint64_t sum = 0;
        for (const module_node_id node : of.nodes) sum += tree_.at(node).calls;
        return sum;
    }
    std::string slowest(const std::vector<module_node_id>& nodes) {
        return tree_
            .at(*std::max_element(
                nodes.begin(), nodes.end(),
                [&](module_node_id a, module_node_id b) { return cost(tree_.at(a).total) < cost(tree_.at(b).total); }))
            .path;
    }

    const module_tree& tree_;
    bool fold_;
    std::vector<module_row>& out_;
};

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

}  // namespace prof
