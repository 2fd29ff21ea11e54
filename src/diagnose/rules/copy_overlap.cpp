// SPDX-License-Identifier: Apache-2.0
// Looks for copies between page-locked memory and the GPU, or between GPUs, that computing waits for although they
// could run beside it in a stream of their own. Where the host waits for a copy, too, that is the first thing to
// change, and has a finding of its own.
#include "diagnose/rules/rule.hpp"

namespace prof {
namespace {

std::vector<suspect> find_copy_overlap(const rule_input& input) {
    return gpu_suspects(input, [&](const gpu_group& group) {
        if (group.use != gpu_use::copy || group.is_pageable || group.tally.total_ns <= 0) return false;
        const rule& of_host = group.direction == copy_direction::to_host ? synchronization_rule : blocking_copies_rule;
        return !(group.is_awaited && input.is_found(of_host.name));
    });
}

constexpr advice_line copy_overlap_advice[] = {
    {written_with::torch,
     "PyTorch: copy the next batch in a side stream (torch.cuda.Stream, record_stream) while this one computes",
     "copy the next batch in a side stream"},
    {written_with::jax, "JAX: jax.device_put the next batch before the step returns",
     "jax.device_put the next batch before the step returns"},
    {written_with::any, "CUDA: cudaMemcpyAsync in another stream, and cudaStreamWaitEvent before the data is used",
     "cudaMemcpyAsync in another stream"},
};

}  // namespace

const rule copy_overlap_rule{
    .name = "copy_overlap",
    .purpose = "copies that run while the GPU could compute",
    .needs = activity::copies,
    .trust = confidence::medium,
    .suspects = find_copy_overlap,
    .title = "computing waits for copies",
    .noun = "copies beside no computing",
    .is_one_cause = false,
    .explains_any_step = false,
    .bound = "as if they ran beside computing, in a stream of their own",
    .advice = copy_overlap_advice,
    .asks_others = true,
};

}  // namespace prof
