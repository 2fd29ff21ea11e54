// SPDX-License-Identifier: Apache-2.0
// Looks for communication that computing waits for: the time of its kernels that nothing hides. One process cannot
// see whether they transfer or wait for another rank.
#include "diagnose/rules/rule.hpp"

namespace prof {
namespace {

std::vector<suspect> find_communication(const rule_input& input) {
    return gpu_suspects(input, [](const gpu_group& group) { return group.use == gpu_use::communication; });
}

constexpr advice_line communication_advice[] = {
    {written_with::torch,
     "PyTorch: DDP(bucket_cap_mb=…, gradient_as_bucket_view=True); no_sync() while gradients accumulate; FSDP with "
     "prefetching",
     "larger buckets: DDP(bucket_cap_mb=…); FSDP prefetching"},
    {written_with::any,
     "Any: fewer bytes (bf16 gradients), larger buckets, or a rank that holds the others up: compare the ranks' "
     "captures",
     "fewer bytes (bf16 gradients), larger buckets"},
};

}  // namespace

const rule communication_rule{
    .name = "communication",
    .purpose = "communication that computing does not hide",
    .needs = activity::kernels,
    .trust = confidence::low,
    .suspects = find_communication,
    .title = "communication is exposed",
    .noun = "communication beside no computing",
    .is_one_cause = true,
    .explains_any_step = false,
    .bound =
        "assumes that all of it overlaps computing, and does not slow it; one rank cannot show how much of it is "
        "waiting for other ranks",
    .advice = communication_advice,
    .goes_by_kernels = true,
};

}  // namespace prof
