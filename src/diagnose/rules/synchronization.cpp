// SPDX-License-Identifier: Apache-2.0
// Looks for calls in which the host waits for the GPU: synchronizing calls, and copies to the host whose value the
// program needs at once (.item(), printing, a boolean mask). They cost what the GPU lacks in work afterwards, not what
// the host waits: a wait for a GPU that has enough work gains nothing.
#include "diagnose/rules/rule.hpp"

namespace prof {
namespace {

std::vector<suspect> find_synchronization(const rule_input& input) {
    return host_suspects(
        input,
        [&](const host_group& group) {
            const bool copies_back =
                group.direction == copy_direction::to_host &&
                (group.cause == idle_cause::pageable_copy || group.cause == idle_cause::blocking_copy);
            return group.cause == idle_cause::waiting || copies_back;
        },
        [&](const host_group& group) { return input.call(group) + ", " + input.place(group.place); });
}

constexpr advice_line synchronization_advice[] = {
    {written_with::torch,
     "PyTorch: no .item(), .cpu(), float(tensor), print(tensor) or boolean mask in the step; keep sums on the GPU and "
     "read them every N steps",
     "no .item(), .cpu() or print(tensor) in the step"},
    {written_with::torch, "PyTorch: torch.cuda.set_sync_debug_mode(\"warn\") names the lines"},
    {written_with::jax, "JAX: no float(x), print(x) or block_until_ready() in the step; read metrics some steps later",
     "no float(x), print(x) or block_until_ready() in the step"},
    {written_with::any,
     "CUDA: wait for an event of an earlier step (cudaEventSynchronize) instead of cudaDeviceSynchronize",
     "wait for an event of an earlier step"},
};

}  // namespace

const rule synchronization_rule{
    .name = "synchronization",
    .purpose = "the host waits for the GPU, and has nothing queued afterwards",
    .needs = activity::waits,
    .trust = confidence::high,
    .suspects = find_synchronization,
    .title = "the host waits for the GPU",
    .noun = "the CPU waits for the GPU",
    .is_one_cause = false,
    .explains_any_step = false,
    .bound = "as if the host went on at once and needed no value from the GPU",
    .advice = synchronization_advice,
};

}  // namespace prof
