// SPDX-License-Identifier: Apache-2.0
// Looks for compilation in the steps: torch.compile and XLA compile again for each new shape, type or flag.
#include "diagnose/rules/rule.hpp"

namespace prof {
namespace {

std::vector<suspect> find_compilation(const rule_input& input) {
    return host_suspects(
        input, [](const host_group& group) { return group.cause == idle_cause::compiling; },
        [&](const host_group& group) { return input.place(group.place); });
}

std::vector<std::string> advise_compilation(const rule_input& input) {
    std::vector<std::string> out;
    if (input.used.has_torch) {
        out.emplace_back(
            "PyTorch: TORCH_LOGS=recompiles names the reason; mark_dynamic or dynamic=True for sizes that change; pad "
            "to few shapes");
    }
    if (input.used.has_jax) {
        out.emplace_back(
            "JAX: jax_log_compiles shows what is compiled; pad to few shapes; static arguments that change compile "
            "again");
    }
    return out;
}

}  // namespace

const rule compilation_rule{
    .name = "compilation",
    .purpose = "a compiler runs in the steps",
    .needs = activity::launches,
    .trust = confidence::high,
    .suspects = find_compilation,
    .title = "a compiler runs in the steps",
    .is_one_cause = true,
    .bound = "as if everything were compiled before",
    .advice = advise_compilation,
};

}  // namespace prof
