// SPDX-License-Identifier: Apache-2.0
// Looks for long stretches in which the host runs code of its own while the GPU has no work left: Python between the
// launches, a lock, input and output. The place is the range in which it is.
#include "diagnose/rules/rule.hpp"

namespace prof {
namespace {

std::vector<suspect> find_host_code(const rule_input& input) {
    return host_suspects(
        input,
        [&](const host_group& group) { return group.cause == idle_cause::host_code && !input.is_scattered(group); },
        [&](const host_group& group) { return input.place(group.place); });
}

constexpr advice_line host_code_advice[] = {
    {written_with::any,
     "Move it out of the step, into another thread or process, or let it run while the GPU computes (launch first, "
     "then log, save and prepare)",
     "move it out of the step, or launch GPU work before it"},
    {written_with::torch,
     "PyTorch: a range around parts of it (torch.cuda.nvtx.range) shows which part it is; py-spy shows the lines"},
    {written_with::jax,
     "JAX: jax.profiler.TraceAnnotation around parts of it shows which part it is; py-spy shows the lines"},
    {written_with::neither, "C++: PROF_RANGE around parts of it shows which part it is; perf shows the functions"},
};

}  // namespace

const rule host_code_rule{
    .name = "host_code",
    .purpose = "the host runs other code while the GPU has nothing to do",
    .needs = activity::launches,
    .needs_all_calls = true,
    .trust = confidence::high,
    .suspects = find_host_code,
    .title = "the host runs other code",
    .noun = "CPU code",
    .is_one_cause = false,
    .explains_any_step = false,
    .bound = "as if that code took no time",
    .advice = host_code_advice,
};

}  // namespace prof
