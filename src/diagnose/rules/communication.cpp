// SPDX-License-Identifier: Apache-2.0
// Looks for communication that computing waits for: the time of NCCL's kernels that nothing hides. One process cannot
// see whether they transfer or wait for another rank.
#include "diagnose/rules/rule.hpp"

namespace prof {
namespace {

std::vector<suspect> find_communication(const rule_input& input) {
    return gpu_suspects(input, [](const gpu_group& group) { return group.use == gpu_use::communication; });
}

std::vector<std::string> advise_communication(const rule_input& input) {
    std::vector<std::string> out;
    if (input.used.has_torch) {
        out.emplace_back(
            "PyTorch: DDP(bucket_cap_mb=…, gradient_as_bucket_view=True); no_sync() while gradients accumulate; FSDP "
            "with prefetching");
    }
    out.emplace_back(
        "Any: fewer bytes (bf16 gradients), larger buckets, or a rank that holds the others up: compare the ranks' "
        "captures");
    return out;
}

}  // namespace

const rule communication_rule{
    .name = "communication",
    .purpose = "communication that computing does not hide",
    .needs = activity::kernels,
    .trust = confidence::medium,
    .suspects = find_communication,
    .title = "communication is exposed",
    .is_one_cause = true,
    .explains_any_step = false,
    .bound = "as if all of it ran beside computing; how much of it is waiting for other ranks, one rank does not show",
    .advice = advise_communication,
};

}  // namespace prof
