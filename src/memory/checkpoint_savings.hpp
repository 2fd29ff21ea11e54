// SPDX-License-Identifier: Apache-2.0
// By how much the peak of a step would be lower if a module were checkpointed (torch.utils.checkpoint): of each of its
// calls the memory that forward makes for backward is given up when the call ends, except its output, and made again
// when its backward begins. The step is gone through again with that; docs/guide/memory.md has the rules. A pure
// function of a timeline: linear in the memory events of the step for each module that is looked at, and in
// the operations of the steps.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "analysis/steps/whole_steps.hpp"
#include "memory/block_account.hpp"
#include "memory/forward_calls.hpp"
#include "timeline/timeline.hpp"

namespace prof {

// What a checkpoint would do once more: the call, on the thread that has its backward, before that. PyTorch ends it
// when it has the last tensor that backward needs, so what follows in the call is not done again: the last product of
// matrices and the sum with the residual, as a rule.
struct repeated_forward {
    thread_id thread = npos;
    std::int64_t at_ns = 0;
    std::int64_t host_ns = 0;
    std::int64_t gpu_ns = 0;  // of the operations that were launched in it
};

struct checkpoint_saving {
    std::uint32_t module = 0;   // of forward_calls
    std::uint64_t calls = 0;    // in the step, each of which would be checkpointed
    std::uint64_t held = 0;     // bytes that forward made in these calls and that were alive at the step's peak
    std::uint64_t outputs = 0;  // of these, the bytes that stay
    std::uint64_t peak = 0;     // of the step then
    std::uint64_t saving = 0;   // the peak that it had less that one
};

// Modules whose calls hold at least a hundredth of the step's peak and would save as much, the most first. `device`: as
// memory_event has it; `peak`: the event after which the step was at its peak.
std::vector<checkpoint_saving> checkpoint_savings(const timeline& data, const block_account& account,
                                                  const forward_calls& calls, std::uint16_t device,
                                                  const whole_step& step, std::uint32_t peak);

// Of the module's calls in these steps that have a backward in the same step, by time.
std::vector<repeated_forward> repeated_forwards(const timeline& data, const block_account& account,
                                                const forward_calls& calls, std::uint32_t module,
                                                const std::vector<whole_step>& steps);

}  // namespace prof
