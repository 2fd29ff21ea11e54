// SPDX-License-Identifier: Apache-2.0
// Looks for calls that allocate and free memory of the GPU in the steps. Some of them wait for all of the GPU's work,
// as cudaFree does: PyTorch's empty_cache(), or an allocator that was out of memory.
#include "diagnose/rules/rule.hpp"

namespace prof {
namespace {

std::vector<suspect> find_allocation(const rule_input& input) {
    return host_suspects(
        input, [](const host_group& group) { return group.cause == idle_cause::allocating; },
        [&](const host_group& group) { return input.call(group) + ", " + input.place(group.place); });
}

constexpr advice_line allocation_advice[] = {
    {written_with::torch,
     "PyTorch: no torch.cuda.empty_cache() in the loop; batches of one shape; "
     "PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True against fragmentation",
     "no torch.cuda.empty_cache() in the loop"},
    {written_with::jax, "JAX: leave XLA_PYTHON_CLIENT_PREALLOCATE on", "XLA_PYTHON_CLIENT_PREALLOCATE=true"},
    {written_with::any, "CUDA: allocate before the loop, or cudaMallocAsync from a pool with a release threshold",
     "allocate before the loop, or cudaMallocAsync"},
};

}  // namespace

const rule allocation_rule{
    .name = "allocation",
    .purpose = "memory is allocated or freed in the steps",
    .needs = activity::allocations,
    .trust = confidence::high,
    .suspects = find_allocation,
    .title = "memory is allocated or freed in the steps",
    .noun = "memory calls",
    .is_one_cause = true,
    .explains_any_step = false,
    .bound = "as if the memory were there",
    .advice = allocation_advice,
};

}  // namespace prof
