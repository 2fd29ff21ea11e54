// SPDX-License-Identifier: Apache-2.0
// Looks for copies that return when they are complete although their memory is page-locked: cudaMemcpy instead of
// cudaMemcpyAsync. Copies to the host belong to the rule for synchronization.
#include "diagnose/rules/rule.hpp"

namespace prof {
namespace {

std::vector<suspect> find_blocking_copies(const rule_input& input) {
    return host_suspects(
        input,
        [&](const host_group& group) {
            return group.cause == idle_cause::blocking_copy && group.direction != copy_direction::to_host &&
                   !input.is_in_pieces(group);
        },
        [&](const host_group& group) { return input.call(group) + ", " + input.place(group.place); });
}

constexpr advice_line blocking_copies_advice[] = {
    {written_with::torch, "PyTorch: batch.to(device, non_blocking=True)", "batch.to(device, non_blocking=True)"},
    {written_with::any, "CUDA: cudaMemcpyAsync in a stream, and an event before the memory is used again",
     "cudaMemcpyAsync in a stream, and an event"},
    {written_with::any, "Then the copy can run beside computing, in a stream of its own"},
};

}  // namespace

const rule blocking_copies_rule{
    .name = "blocking_copies",
    .purpose = "copies that return only when they are complete",
    .needs = activity::copies,
    .trust = confidence::high,
    .suspects = find_blocking_copies,
    .title = "the host waits for copies",
    .noun = "the CPU waits for copies",
    .is_one_cause = false,
    .explains_any_step = false,
    .bound = "as if the copies were asynchronous",
    .advice = blocking_copies_advice,
};

}  // namespace prof
