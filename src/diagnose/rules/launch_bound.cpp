// SPDX-License-Identifier: Apache-2.0
// Looks for stretches in which the GPU waits for the next launch although the host does nothing but launch: many small
// kernels, each shorter than its launch takes.
#include <algorithm>

#include "diagnose/rules/rule.hpp"

namespace prof {
namespace {

// From node to node of a CUDA graph.
constexpr std::int64_t node_to_node_ns = 100;
// An operation of up to this length may be over before the GPU has prepared the next one, whose launch came in time.
// (Below small_kernel_ns, which is more, the host may be late with the launch.)
constexpr std::int64_t unprepared_ns = 5'000;

bool is_short(const gpu_op& op) noexcept { return op.end_ns - op.start_ns <= unprepared_ns; }

// Operations that waited for their launch, and runs of short ones, follow each other as in a CUDA graph.
void add_graph(const rule_input& input, const dependency_graph& graph, replay_changes& to) {
    for (const event_change& change : to.events) {
        const call_id index = graph.events()[change.event].call;
        if (index == npos) continue;
        const timeline_api_call& call = input.data.api_calls[index];
        for (std::uint32_t i = 0; i < call.op_count; ++i) {
            const op_id op = input.data.ops_by_launch[call.first_op + i];
            if (!graph.part().has_op(op)) continue;
            const op_needs& needs = graph.needs_of(op);
            if (needs.previous == npos || needs.beside_previous || needs.after_previous_ns <= node_to_node_ns) continue;
            const gpu_op& of = input.data.ops[op];
            const gpu_op& previous = input.data.ops[needs.previous];
            if (previous.launch == of.launch) continue;  // both are in a graph
            const bool has_waited = of.start_ns - previous.end_ns > needs.after_previous_ns;
            if (!has_waited && !(is_short(of) && is_short(previous))) continue;
            to.ops.push_back({.op = op, .next_less_ns = needs.after_previous_ns - node_to_node_ns});
        }
    }
    to.normalize();
}

std::vector<suspect> find_launch_bound(const rule_input& input) {
    return host_suspects(
        input,
        [&](const host_group& group) {
            const bool launches = group.cause == idle_cause::launching && !input.is_in_pieces(group);
            return launches || (group.cause == idle_cause::host_code && input.is_scattered(group));
        },
        [&](const host_group& group) { return input.place(group.place); });
}

constexpr advice_line launch_bound_advice[] = {
    {written_with::torch,
     "PyTorch: torch.compile(mode=\"reduce-overhead\") or torch.cuda.make_graphed_callables replays launches as a CUDA "
     "graph",
     "torch.compile(mode=\"reduce-overhead\"): CUDA graphs"},
    {written_with::torch,
     "PyTorch: fewer, larger kernels: torch.compile, fused=True or foreach=True optimizers, a larger batch"},
    {written_with::jax,
     "JAX: one jax.jit around the whole step; lax.scan over steps; XLA_FLAGS=--xla_gpu_enable_command_buffer",
     "one jax.jit around the step, or lax.scan over steps"},
    {written_with::any, "CUDA: capture the stretch into a CUDA graph", "capture the stretch into a CUDA graph"},
};

std::optional<place_advice> advice_of_launches(const rule_input& input, const std::string& /*place*/) {
    const bool has_graphs = std::any_of(input.data.ops.begin(), input.data.ops.end(), [](const gpu_op& op) {
        return op.kind == op_kind::graph || op.graph_node != npos;
    });
    if (!has_graphs) return {};
    place_advice out{.brief = "fewer and larger CUDA graphs: some are in use", .replaces_briefs = true};
    if (input.used.has_torch) {
        out.text =
            "PyTorch: fewer and larger CUDA graphs, as some are in use: fewer graph breaks "
            "(TORCH_LOGS=graph_breaks has them), and more of the step in one compiled or graphed function";
    } else if (input.used.has_jax) {
        out.text =
            "JAX: fewer and larger CUDA graphs, as some are in use: one jax.jit around the whole step, or lax.scan "
            "over steps";
    } else {
        out.text = "CUDA: fewer and larger CUDA graphs, as some are in use: capture what lies between them, too";
    }
    return out;
}

}  // namespace

const rule launch_bound_rule{
    .name = "launch_bound",
    .purpose = "the GPU is faster than the host launches",
    .needs = activity::launches,
    .needs_all_calls = true,
    .trust = confidence::high,
    .suspects = find_launch_bound,
    .title = "the GPU waits for launches",
    .noun = "launches",
    .is_one_cause = true,
    .explains_any_step = false,
    .bound =
        "as if launching took no time, as in a CUDA graph; what the host does afterwards, and the GPU may wait for, "
        "begins earlier then",
    .advice = launch_bound_advice,
    .advice_at = advice_of_launches,
    .complete = add_graph,
};

}  // namespace prof
