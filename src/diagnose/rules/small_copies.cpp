// SPDX-License-Identifier: Apache-2.0
// Looks for data that is copied in many small pieces: each costs a call and a start on the GPU, whatever its size.
#include "diagnose/rules/rule.hpp"
#include "timeline/launched_ops.hpp"

#include <fmt/format.h>

#include <utility>

namespace prof {
namespace {

// All copies of a step but the first are gone: their calls, the waits behind them, the time before each, and their
// operations.
void merge_copies(const rule_input& input, const dependency_graph& graph, replay_changes& of) {
    replay_changes merged;
    std::int64_t step_end_ns = INT64_MIN;
    std::size_t step = 0;
    call_id kept = npos;  // the call of the first copy of a step
    for (event_change change : of.events) {
        const host_event& event = graph.events()[change.event];
        if (event.start_ns >= step_end_ns) {  // the first one of a step
            const std::vector<whole_step>& steps = graph.steps();
            while (step < steps.size() && steps[step].end_ns <= event.start_ns) ++step;
            if (step == steps.size()) break;
            step_end_ns = steps[step].end_ns;
            kept = event.call;
            continue;
        }
        const timeline_api_call& call = input.data.api_calls[event.call];
        if (call.kind == api_class::wait && copy_waited_for(graph, event) == kept) continue;
        change.work_less_ns = event.work_ns;
        change.waits = false;
        if (event.before != npos) {
            const std::int64_t gap_ns = event.start_ns - graph.events()[event.before].end_ns;
            if (gap_ns <= launch_bound_ns) change.gap_less_ns = gap_ns;
        }
        for (const op_id op : ops_of(input.data, call)) {
            merged.ops.push_back({.op = op, .fate = op_fate::is_gone});
        }
        merged.events.push_back(change);
    }
    merged.normalize();
    of = std::move(merged);
}

std::vector<suspect> find_small_copies(const rule_input& input) {
    return host_suspects(
        input, [&](const host_group& group) { return input.is_in_pieces(group); },
        [&](const host_group& group) {
            return fmt::format("{} copies of {} bytes a step, {}", group.tally.count / input.steps,
                               group.bytes / group.tally.count, input.place(group.place));
        });
}

constexpr advice_line small_copies_advice[] = {
    {written_with::torch,
     "PyTorch: build one tensor on the host and copy it once; torch.tensor(list) instead of many; foreach operators",
     "build one tensor on the CPU and copy it once"},
    {written_with::any, "CUDA: pack the values into one page-locked buffer, or cudaMemcpyBatchAsync",
     "pack the values into one page-locked buffer"},
};

}  // namespace

const rule small_copies_rule{
    .name = "small_copies",
    .purpose = "many small copies instead of one",
    .needs = activity::copies,
    .trust = confidence::medium,
    .suspects = find_small_copies,
    .title = "data is copied in small pieces",
    .noun = "small copies",
    .is_one_cause = true,
    .explains_any_step = false,
    .bound = "as if each step had one such copy, and the others took no time",
    .advice = small_copies_advice,
    .complete = merge_copies,
};

}  // namespace prof
