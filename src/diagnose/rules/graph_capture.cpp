// SPDX-License-Identifier: Apache-2.0
// Looks for captures of CUDA graphs in the steps: the GPU does nothing of what is captured.
#include "diagnose/rules/rule.hpp"

namespace prof {
namespace {

std::vector<suspect> find_graph_capture(const rule_input& input) {
    return host_suspects(
        input, [](const host_group& group) { return group.cause == idle_cause::capturing; },
        [&](const host_group& group) { return input.place(group.place); });
}

constexpr advice_line graph_capture_advice[] = {
    {written_with::torch,
     "PyTorch: capture before the loop, with few shapes: each new one is captured again by mode=\"reduce-overhead\"",
     "capture before the loop, with few shapes"},
    {written_with::any, "CUDA: capture once and replay; update an instantiated graph (cudaGraphExecUpdate)",
     "capture once, then replay"},
};

}  // namespace

const rule graph_capture_rule{
    .name = "graph_capture",
    .purpose = "CUDA graphs are captured in the steps",
    .needs = activity::launches,
    .trust = confidence::high,
    .suspects = find_graph_capture,
    .title = "CUDA graphs are captured in the steps",
    .noun = "capturing CUDA graphs",
    .is_one_cause = true,
    .explains_any_step = true,
    .bound = "as if the graphs were captured before",
    .advice = graph_capture_advice,
};

}  // namespace prof
