// SPDX-License-Identifier: Apache-2.0
#include "report/tables/pytorch_ops.hpp"

#include <algorithm>
#include <string_view>
#include <tuple>
#include <unordered_map>
#include <utility>

#include "record/label.hpp"
#include "report/makers.hpp"
#include "report/tables/durations.hpp"
#include "report/tables/table_of_step.hpp"

namespace prof {
namespace {

// Per range: the one from PyTorch's observer around it on its thread; npos without one, and for other ranges.
row_values<range_id, range_id> torch_parents(const timeline& data) {
    row_values<range_id, range_id> parents(data.ranges.size(), npos);
    for (const torch_node& node : data.torch_nodes) {
        if (node.below != npos) parents[node.range] = data.torch_nodes[node.below].range;
    }
    return parents;
}

// Per range: 1 if it has its parent's name and is the whole content of its parent, CUDA's calls included (an operator
// that calls itself with its arguments converted). key_averages() takes the two for one call.
row_values<range_id, std::uint8_t> repetitions(const timeline& data, const row_values<range_id, range_id>& parents) {
    row_values<range_id, std::uint32_t> children(parents.size(), 0);
    for (const range_id parent : parents) {
        if (parent != npos) ++children[parent];
    }
    for (const timeline_api_call& call : data.api_calls) {
        if (call.torch_open != npos) ++children[data.torch_nodes[call.torch_open].range];
    }
    row_values<range_id, std::uint8_t> out(parents.size(), 0);
    for (const range_id i : parents.ids()) {
        const range_id parent = parents[i];
        if (parent == npos || children[parent] != 1) continue;
        out[i] = data.ranges[i].name == data.ranges[parent].name ? 1 : 0;
    }
    return out;
}

constexpr std::string_view shown_engine = "engine: ";  // the same, for people

bool is_of_engine(const pytorch_row& row) { return row.name.starts_with(engine_prefix); }

bool is_backward_node(const timeline& data, range_id range, range_id parent) {
    if (parent == npos || data.ranges[range].sequence < 0) return false;
    const std::string_view outer = data.name(data.ranges[parent].name);
    return outer.starts_with(engine_prefix) && outer.substr(engine_prefix.size()) == data.name(data.ranges[range].name);
}

// Numbers are a thread's own, so the nodes of one number may have been made by several threads.
struct maker {
    range_id range = npos;
    bool has_node = false;
};
using makers_by_sequence = std::unordered_map<std::int64_t, std::vector<maker>>;

// The operator, begun before the node, that made it: of several threads' the one that has no node yet.
maker* choose_maker(const timeline& data, std::vector<maker>& makers, std::int64_t node_start_ns, bool& ambiguous) {
    maker* chosen = nullptr;
    for (const bool wanted : {false, true}) {
        for (maker& candidate : makers) {
            if (candidate.has_node != wanted || data.ranges[candidate.range].start_ns > node_start_ns) continue;
            if (chosen != nullptr) {
                ambiguous = true;
                return nullptr;
            }
            chosen = &candidate;
        }
        if (chosen != nullptr) break;
    }
    return chosen;
}

}  // namespace

bool has_operators(const timeline& data) {
    return std::any_of(data.torch_nodes.begin(), data.torch_nodes.end(),
                       [&](const torch_node& node) { return data.ranges[node.range].is_operator; });
}

std::string shown_operator(std::string_view name) {
    if (!name.starts_with(engine_prefix)) return std::string(name);
    return std::string(shown_engine).append(name.substr(engine_prefix.size()));
}

backward_links link_backward(const timeline& data) {
    const row_values<range_id, range_id> parents = torch_parents(data);
    backward_links out;
    makers_by_sequence makers;
    for (const range_id i : data.ranges.ids()) {
        const timeline_range& range = data.ranges[i];
        if (!range.is_operator || range.sequence < 0) continue;
        if (is_backward_node(data, i, parents[i])) {
            ++out.nodes;
            bool ambiguous = false;
            maker* const made_by = choose_maker(data, makers[range.sequence], range.start_ns, ambiguous);
            if (made_by == nullptr) {
                ++(ambiguous ? out.ambiguous : out.unlinked);
                continue;
            }
            made_by->has_node = true;
            out.links.emplace_back(made_by->range, i);
            continue;
        }
        // The number is the next node's: of the operators on a thread that show it the last one makes the node.
        std::vector<maker>& same = makers[range.sequence];
        const auto own = std::find_if(same.begin(), same.end(), [&](const maker& other) {
            return data.ranges[other.range].thread == range.thread;
        });
        if (own == same.end()) {
            same.push_back({.range = i});
        } else {
            *own = {.range = i};
        }
    }
    return out;
}

pytorch_table pytorch_operators(const timeline& data) {
    const row_values<range_id, range_id> parents = torch_parents(data);
    const row_values<range_id, std::uint8_t> repeats = repetitions(data, parents);
    std::unordered_map<name_id, pytorch_row> by_name;
    row_values<range_id, std::int64_t> gpu_total_ns(data.ranges.size(), 0);
    const auto row_of = [&](range_id range) -> pytorch_row& { return by_name[data.ranges[range].name]; };

    for (const gpu_op& op : data.ops) {
        if (op.launch == npos) continue;
        const std::int64_t duration_ns = op.end_ns - op.start_ns;
        torch_node_id node = data.api_calls[op.launch].torch_open;
        if (node == npos) continue;
        pytorch_row& self = row_of(data.torch_nodes[node].range);
        self.gpu_self_ns += duration_ns;
        self.gpu_ops += 1;
        for (; node != npos; node = data.torch_nodes[node].below) {
            gpu_total_ns[data.torch_nodes[node].range] += duration_ns;
        }
    }
    for (const range_id i : data.ranges.ids()) {
        const timeline_range& range = data.ranges[i];
        if (range.style != range_style::push_pop || !is_torch(range.payload_kind) || repeats[i] != 0) continue;
        const std::int64_t duration_ns = range.end_ns - range.start_ns;
        pytorch_row& row = row_of(i);
        row.calls += 1;
        row.cpu_total_ns += duration_ns;
        row.cpu_self_ns += duration_ns;
        row.gpu_total_ns += gpu_total_ns[i];
        if (parents[i] != npos) row_of(parents[i]).cpu_self_ns -= duration_ns;
    }

    pytorch_table out;
    const backward_links backward = link_backward(data);
    out.backward_nodes = backward.nodes;
    out.unlinked_nodes = backward.unlinked;
    out.ambiguous_nodes = backward.ambiguous;
    for (const auto& [made_by, node] : backward.links) {
        for (range_id i = made_by; i != npos && data.ranges[i].is_operator; i = parents[i]) {
            if (repeats[i] != 0) continue;
            row_of(i).backward_gpu_ns += gpu_total_ns[node];
            row_of(i).backward_calls += 1;
        }
    }

    for (auto& [name, row] : by_name) {
        row.name = data.name(name);
        out.rows.push_back(std::move(row));
    }
    std::sort(out.rows.begin(), out.rows.end(), [](const pytorch_row& a, const pytorch_row& b) {
        return std::tie(b.gpu_self_ns, b.cpu_self_ns, a.name) < std::tie(a.gpu_self_ns, a.cpu_self_ns, b.name);
    });
    return out;
}

namespace {

// `all`: the sum of the rows. A table of a step has one share, that of its order.
report_columns<pytorch_row> operator_columns(const pytorch_row& all, bool has_gpu, bool has_backward, bool is_of_step) {
    using row = pytorch_row;
    const auto if_gpu = [&](const char* title) { return has_gpu ? title : ""; };
    const auto share = [&](const char* title, int importance, auto part, auto whole, bool is_order = false) {
        if (is_of_step) title = is_order ? "share" : "";
        const auto cell = [&all, part, whole](const row& one) {
            return &one == &all ? 1.0 : share_of(one.*part, all.*whole);
        };
        return report_column<row>{{"", title, quantity::share, importance}, cell, part == whole};
    };
    const auto each = [](std::int64_t row::*ns) {
        return [ns](const row& one) { return mean_over(one.*ns, one.calls); };
    };
    const int host_importance = has_gpu ? 1 : 0;
    return {{{"name", ""}, &row::name},
            {{"", "name"}, [](const row& one) { return shown_operator(one.name); }, true},
            {{"calls", "calls", quantity::count}, &row::calls},
            {{"cpu_total_ns", "CPU total", quantity::time_ns, 2 * host_importance}, &row::cpu_total_ns},
            share("CPU %", 5, &row::cpu_total_ns, &row::cpu_self_ns),
            {{"cpu_self_ns", "self CPU", quantity::time_ns, host_importance}, &row::cpu_self_ns, true},
            share("self CPU %", 3, &row::cpu_self_ns, &row::cpu_self_ns, !has_gpu),
            {{"", "CPU/call", quantity::time_ns, 4 * host_importance}, each(&row::cpu_total_ns)},
            {{"gpu_total_ns", if_gpu("GPU total"), quantity::time_ns}, &row::gpu_total_ns},
            share(if_gpu("GPU %"), 5, &row::gpu_total_ns, &row::gpu_self_ns),
            {{"gpu_self_ns", if_gpu("self GPU"), quantity::time_ns}, &row::gpu_self_ns, true},
            share(if_gpu("self GPU %"), 3, &row::gpu_self_ns, &row::gpu_self_ns, has_gpu),
            {{"", if_gpu("GPU/call"), quantity::time_ns, 4}, each(&row::gpu_total_ns)},
            {{"gpu_ops", if_gpu("ops"), quantity::count, 6}, &row::gpu_ops},
            {{"backward_gpu_ns", has_backward ? if_gpu("backward") : "", quantity::time_ns}, &row::backward_gpu_ns},
            {{"backward_calls", has_backward ? "nodes" : "", quantity::count, 6}, &row::backward_calls}};
}

void make_operators_of_step(table& of, const mean_step& by, bool has_gpu) {
    of.heading = "PyTorch's operators and ranges, in a step";
    divide_count(of, "calls", by);
    divide_count(of, "gpu_ops", by);
    divide_count(of, "backward_calls", by);
    divide_time(of, "cpu_total_ns", by, whose_time::cpu);
    divide_time(of, "cpu_self_ns", by, whose_time::cpu);
    divide_time(of, "gpu_total_ns", by, whose_time::gpu);
    divide_time(of, "gpu_self_ns", by, whose_time::gpu_adds_up);
    divide_time(of, "backward_gpu_ns", by, whose_time::gpu);
    share_of_step(of, "share", has_gpu ? "gpu_self_ns" : "cpu_self_ns", by);
    std::erase_if(of.legend, [](const legend_line& line) { return line.column == "self CPU %"; });
    of.legend.push_back({"% of step", has_gpu ? "% of step: of self GPU." : "% of step: of self CPU."});
}

}  // namespace

table pytorch_ops_report(const report_input& input) {
    const timeline& data = data_of_tables(input);
    const pytorch_table operators = pytorch_operators(data);
    const bool has_gpu = !data.ops.empty();
    pytorch_row all{.name = "self time total"};
    for (const pytorch_row& row : operators.rows) {
        all.cpu_self_ns += row.cpu_self_ns;
        all.gpu_self_ns += row.gpu_self_ns;
    }
    const report_columns<pytorch_row> columns =
        operator_columns(all, has_gpu, operators.backward_nodes != 0, input.step != nullptr);
    table out = make_table("pytorch_ops", "PyTorch's operators and ranges", columns, operators.rows);
    out.totals = {{"backward_nodes", operators.backward_nodes},
                  {"unlinked_nodes", operators.unlinked_nodes},
                  {"ambiguous_nodes", operators.ambiguous_nodes}};
    if (out.rows.empty()) {
        out.notes.emplace_back("no operators were recorded: prof run --pytorch ops records them");
    } else {
        out.sums.push_back(sums_of(columns, all));
    }
    const auto note = [&](std::uint64_t count, const char* why) {
        if (count == 0) return;
        out.notes.push_back("of " + std::to_string(operators.backward_nodes) + " backward nodes " +
                            std::to_string(count) + why);
    };
    note(operators.unlinked_nodes, " were made by operators that were not recorded");
    note(operators.ambiguous_nodes, " could belong to operators of several threads, and count for none");
    out.legend = {{"", "self: without PyTorch's ranges inside. total: with them."},
                  {"self CPU %", "%: of the total of self times."},
                  {"backward", "backward: GPU time of the backward nodes that were made in it."},
                  {"", "Work launched by other threads for a range counts there, not here."}};
    if (std::any_of(operators.rows.begin(), operators.rows.end(), is_of_engine)) {
        out.legend.push_back({"", "engine: X: autograd's engine around the backward node X."});
    }
    if (input.step != nullptr) make_operators_of_step(out, *input.step, has_gpu);
    return out;
}

}  // namespace prof
