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

std::vector<std::string> advise_blocking_copies(const rule_input& input) {
    std::vector<std::string> out;
    if (input.used.has_torch) {
        out.emplace_back("PyTorch: batch.to(device, non_blocking=True)");
    }
    out.emplace_back("CUDA: cudaMemcpyAsync in a stream, and an event before the memory is used again");
    out.emplace_back("Then the copy can run beside computing, in a stream of its own");
    return out;
}

}  // namespace

const rule blocking_copies_rule{
    .name = "blocking_copies",
    .purpose = "copies that return only when they are complete",
    .needs = activity::copies,
    .trust = confidence::high,
    .suspects = find_blocking_copies,
    .title = "the host waits for copies",
    .is_one_cause = false,
    .explains_any_step = false,
    .bound = "as if the copies were asynchronous",
    .advice = advise_blocking_copies,
};

}  // namespace prof
