// SPDX-License-Identifier: Apache-2.0
#include "analysis/modules/module_finder.hpp"

#include <algorithm>
#include <set>

#include "analysis/projection/segment.hpp"

namespace prof {
namespace {

std::string_view function_of(std::string_view path) { return path.substr(0, path.find('/')); }

std::optional<module_work> work_of_operation(const xla_operations::entry& op) {
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

std::vector<bool> with_scopes(const std::vector<std::string>& paths) {
    std::set<std::string_view> functions;
    for (const std::string& path : paths) {
        if (path.find('/') != std::string::npos) functions.insert(function_of(path));
    }
    std::vector<bool> out;
    out.reserve(paths.size());
    for (const std::string& path : paths) out.push_back(functions.contains(function_of(path)));
    return out;
}

}  // namespace

std::string_view what_records_modules(const timeline& data) {
    const bool is_of_profiler = data.property("trace").find("torch.profiler") != std::string::npos;
    return is_of_profiler ? "torch.profiler records them with with_stack=True" : "prof run --modules records them";
}

std::optional<module_work> module_work_of(std::string_view phase) {
    const auto found = std::find(module_work_names.begin(), module_work_names.end(), phase);
    if (found == module_work_names.end()) return {};
    return static_cast<module_work>(found - module_work_names.begin());
}

module_finder::module_finder(const timeline& data, const attribution& att, const timeline& original)
    : data_(data), att_(att), xla_(find_xla_operations(original)), has_scopes_(with_scopes(xla_.paths)) {
    has_calls_ = std::any_of(data.ranges.begin(), data.ranges.end(), [](const timeline_range& range) {
        return range.is_module && range.style == range_style::push_pop;
    });
    look_at(0, data.ranges.size());
}

void module_finder::look_at(std::size_t first_range, std::size_t end_range) {
    calls_.emplace(data_, first_range, end_range);
    makers_ = {};
}

module_phase module_finder::phase_of(op_id op) const {
    module_phase innermost;
    const auto visit = [&](range_id index) {
        if (innermost.range != npos || !is_phase(data_, data_.ranges[index])) return;
        if (const auto work = module_work_of(data_.name(data_.ranges[index].name))) innermost = {*work, index};
    };
    for_each_replayed_range(att_, op, [&](replayed_id replayed) { visit(att_.replayed[replayed].range); });
    for_each_open_range(data_, att_, op, visit);
    return innermost;
}

maker_of_node module_finder::of_op(op_id index, const module_phase& phase) {
    const gpu_op& op = data_.ops[index];
    thread_id thread = data_.api_calls[op.launch].thread;
    std::int64_t time_ns = data_.api_calls[op.launch].start_ns;
    if (op.graph_node == graph_capture_unseen) return {};
    if (op.graph_node != npos) {
        // A replay has the module of the capture.
        const timeline_graph_node& node = data_.graph_nodes[op.graph_node];
        if (node.outside_windows) return {};
        thread = node.thread;
        time_ns = node.created_ns;
    }
    if (phase.work != module_work::backward) {
        const range_id call = calls_->call_at(thread, time_ns);
        return {call == npos ? made_in::no_module : made_in::module, call};
    }
    const range_id node = calls_->latest_node_at(thread, time_ns);
    const bool is_known = node != npos && data_.ranges[node].start_ns >= data_.ranges[phase.range].start_ns;
    return is_known ? maker_of(node) : maker_of_node{};
}

maker_of_node module_finder::maker_of_op(op_id index) {
    const gpu_op& op = data_.ops[index];
    if (op.launch == npos || calls_->empty()) return {made_in::no_module, npos};
    const module_phase phase = phase_of(index);
    return phase.range != npos || op.graph_node != npos ? of_op(index, phase) : of_launch(index).made;
}

std::optional<module_scopes> module_finder::scopes_of_op(op_id op) const {
    if (op >= xla_.ops.size()) return {};
    const xla_operations::entry& of = xla_.ops[op];
    const auto work = work_of_operation(of);
    if (!work || of.path == npos || (!of.computes_gradients && !has_scopes_[of.path])) return {};
    return module_scopes{*work, of.path};
}

bool module_finder::is_in_no_phase(op_id op) const {
    return op < xla_.ops.size() && xla_.ops[op].computes_gradients && xla_.ops[op].phase == xla_phase::none;
}

maker_of_node module_finder::maker_of(range_id node) {
    known_maker& known = makers_[node % makers_.size()];
    if (known.node != node) known = {node, calls_->maker_of(node)};
    return known.made;
}

bool module_finder::is_in_node(range_id call, range_id node) const {
    return node != npos && (call == npos || data_.ranges[call].start_ns < data_.ranges[node].start_ns);
}

maker_of_node module_finder::innermost(range_id call, range_id node) {
    if (is_in_node(call, node)) return maker_of(node);
    return {call == npos ? made_in::no_module : made_in::module, call};
}

maker_of_node module_finder::at(thread_id thread, std::int64_t time_ns) {
    return innermost(calls_->call_at(thread, time_ns), calls_->node_at(thread, time_ns));
}

module_of_launch module_finder::of_launch(op_id op) {
    const timeline_api_call& launch = data_.api_calls[data_.ops[op].launch];
    const range_id call = calls_->call_at(launch.thread, launch.start_ns);
    const range_id node = calls_->node_of_launch(launch);
    module_of_launch out{.work = {},
                         .made = data_.ops[op].graph_node == npos ? innermost(call, node) : maker_of_node{}};
    if (is_in_node(call, node)) {
        out.work = module_work::backward;
    } else if (call != npos) {
        out.work = node == npos ? module_work::forward : module_work::recompute;
    }
    return out;
}

}  // namespace prof
