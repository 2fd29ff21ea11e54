// SPDX-License-Identifier: Apache-2.0
// What checkpointing of a module would save of the peak, and what it would cost of a step: docs/guide/memory.md has the
// rules. Made when a report asks for it: it goes through the steps' operations, and replays some steps.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "memory/memory_summary.hpp"
#include "report/report_input.hpp"

namespace prof {

struct checkpoint_advice {
    std::uint32_t device = 0;
    std::string module{};  // "GPT2.h.*"
    std::string class_name{};
    std::uint64_t calls = 0;    // of a step, each of which would be checkpointed
    std::uint64_t held = 0;     // bytes of what forward makes in them, alive at the highest step's peak
    std::uint64_t outputs = 0;  // of these, what stays
    std::uint64_t peak = 0;     // of that step then
    std::uint64_t saving = 0;
    double gpu_ns = 0;  // of a step: its forward
    double host_ns = 0;
    double cost_ns = 0;  // of a step, by replay

    // Its launches hold the GPU up. What a checkpoint itself does on the host, which no price has, counts there, too.
    bool waits_for_launches() const noexcept { return host_ns > gpu_ns; }
};

struct checkpoint_answer {
    std::vector<checkpoint_advice> modules{};  // by device; that which saves most first
    std::uint64_t replayed = 0;                // steps
    std::uint64_t steps = 0;                   // that count
    std::string reason{};                      // why there are none; "" if there are
};

// `of`: input_memory(input).summary().
checkpoint_answer checkpoints_of(const report_input& input, const memory_summary& of);

// "checkpointing GPT2.h.* (12 calls a step) would lower the peak by 3.10 GB to 9.21 GB, and cost 4.200 ms a step"; "or
// more" where it waits for launches.
std::string checkpoint_text(const checkpoint_advice& of);

}  // namespace prof
