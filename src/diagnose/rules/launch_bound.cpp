// SPDX-License-Identifier: Apache-2.0
// Looks for stretches in which the GPU waits for the next launch although the host does nothing but launch: many small
// kernels, each shorter than its launch takes.
#include "diagnose/rules/rule.hpp"

namespace prof {
namespace {

std::vector<suspect> find_launch_bound(const rule_input& input) {
    return host_suspects(
        input,
        [&](const host_group& group) {
            const bool launches = group.cause == idle_cause::launching && !input.is_in_pieces(group);
            return launches || (group.cause == idle_cause::host_code && input.is_scattered(group));
        },
        [&](const host_group& group) { return input.place(group.place); });
}

std::vector<std::string> advise_launch_bound(const rule_input& input) {
    std::vector<std::string> out;
    if (input.used.has_torch) {
        out.emplace_back(
            "PyTorch: torch.compile(mode=\"reduce-overhead\") or torch.cuda.make_graphed_callables replays launches as "
            "a CUDA graph");
    }
    if (input.used.has_torch) {
        out.emplace_back(
            "PyTorch: fewer, larger kernels: torch.compile, fused=True or foreach=True optimizers, a larger batch");
    }
    if (input.used.has_jax) {
        out.emplace_back(
            "JAX: one jax.jit around the whole step; lax.scan over steps; XLA_FLAGS=--xla_gpu_enable_command_buffer");
    }
    out.emplace_back("CUDA: capture the stretch into a CUDA graph");
    return out;
}

}  // namespace

const rule launch_bound_rule{
    .name = "launch_bound",
    .purpose = "the GPU is faster than the host launches",
    .needs = activity::launches,
    .trust = confidence::high,
    .suspects = find_launch_bound,
    .title = "the GPU waits for launches",
    .is_one_cause = true,
    .bound = "as if launching took no time: a CUDA graph comes close to it",
    .advice = advise_launch_bound,
};

}  // namespace prof
