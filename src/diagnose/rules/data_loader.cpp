// SPDX-License-Identifier: Apache-2.0
// Looks for time in which the program waits for its data loader: the phase `data`, and what PyTorch names there.
// TensorBoard's plugin for PyTorch called it DataLoader time, and XProf the input pipeline.
#include "diagnose/rules/rule.hpp"

namespace prof {
namespace {

std::vector<suspect> find_data_loader(const rule_input& input) {
    return host_suspects(
        input, [](const host_group& group) { return group.cause == idle_cause::loader; },
        [&](const host_group& group) { return input.place(group.place); });
}

constexpr advice_line data_loader_advice[] = {
    {written_with::torch,
     "PyTorch: DataLoader(num_workers=…, prefetch_factor=…, persistent_workers=True); move work from the dataset to "
     "before training",
     "DataLoader(num_workers=4, persistent_workers=True)"},
    {written_with::jax,
     "JAX: prefetch batches to the GPU while it computes (a queue of jax.device_put in a thread, or grain, tf.data)",
     "prefetch in a thread: jax.device_put, grain, tf.data"},
    {written_with::any, "Any: prepare the next batch in another thread or process while the GPU computes this one",
     "prepare the next batch in another thread or process"},
};

}  // namespace

const rule data_loader_rule{
    .name = "data_loader",
    .purpose = "the program waits for its data loader",
    .needs = activity::launches,
    .trust = confidence::high,
    .suspects = find_data_loader,
    .title = "the program waits for its data loader",
    .noun = "waiting for the data loader",
    .is_one_cause = true,
    .explains_any_step = true,
    .bound = "as if the next batch were always ready",
    .advice = data_loader_advice,
};

}  // namespace prof
