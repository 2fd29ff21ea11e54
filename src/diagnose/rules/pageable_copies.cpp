// SPDX-License-Identifier: Apache-2.0
// Looks for copies to the GPU from pageable memory: the host waits while the driver copies through a buffer of its own,
// at a fraction of the bus' rate.
#include "diagnose/rules/rule.hpp"
#include "timeline/launched_ops.hpp"

#include <algorithm>

namespace prof {
namespace {

// The copies of these calls take as long as at the rate of page-locked ones; if that is not known: no time.
void add_faster_copies(const rule_input& input, const dependency_graph& graph, replay_changes& to) {
    const double rate = input.pinned_rate;
    for (const event_change& change : to.events) {
        const call_id call = graph.events()[change.event].call;
        if (call == npos) continue;
        for (const op_id op : ops_of(input.data, input.data.api_calls[call])) {
            const gpu_op& copy = input.data.ops[op];
            if (copy.kind != op_kind::memcpy) continue;
            if (rate <= 0) {
                to.ops.push_back({.op = op, .fate = op_fate::is_gone});
                continue;
            }
            const double bytes = static_cast<double>(input.data.transfers[copy.detail].bytes);
            const auto needed_ns = static_cast<std::int64_t>(std::min(bytes / rate, 1e18));
            const std::int64_t less_ns = copy.end_ns - copy.start_ns - needed_ns;
            if (less_ns > 0) to.ops.push_back({.op = op, .less_ns = less_ns});
        }
    }
    to.normalize();
}

std::vector<suspect> find_pageable_copies(const rule_input& input) {
    return host_suspects(
        input,
        [&](const host_group& group) {
            return group.cause == idle_cause::pageable_copy && group.direction != copy_direction::to_host &&
                   !input.is_in_pieces(group);
        },
        [&](const host_group& group) {
            const std::string what =
                group.is_staged ? "XLA copies arrays of the host into page-locked memory first" : input.call(group);
            return what + ", " + input.place(group.place);
        });
}

constexpr advice_line pageable_copies_advice[] = {
    {written_with::torch, "PyTorch: DataLoader(pin_memory=True), then batch.to(device, non_blocking=True)",
     "pin_memory=True, then .to(device, non_blocking=True)"},
    {written_with::jax,
     "JAX: keep batches in page-locked memory (memory_kind=\"pinned_host\"), or jax.device_put the next one in another "
     "thread while this one computes",
     "memory_kind=\"pinned_host\", or jax.device_put earlier"},
    {written_with::any, "CUDA: cudaMallocHost or cudaHostRegister, then cudaMemcpyAsync",
     "cudaMallocHost or cudaHostRegister, then cudaMemcpyAsync"},
};

}  // namespace

const rule pageable_copies_rule{
    .name = "pageable_copies",
    .purpose = "copies from pageable memory hold up the host and are slow",
    .needs = activity::copies,
    .trust = confidence::medium,
    .suspects = find_pageable_copies,
    .title = "copies from pageable memory",
    .noun = "copies from unpinned memory",
    .is_one_cause = false,
    .explains_any_step = false,
    .bound =
        "as if the memory were page-locked and the copy asynchronous; without a page-locked copy to measure, as if it "
        "took no time",
    .advice = pageable_copies_advice,
    .complete = add_faster_copies,
};

}  // namespace prof
