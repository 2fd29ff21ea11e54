// SPDX-License-Identifier: Apache-2.0
// How much longer a step would take with more work in it, as of a forward that a checkpoint computes again: by replay
// of the recorded dependencies (replay/replay.hpp). Of the host's work all is on one thread, and of the GPU's in one
// stream; the two go on beside each other, as those of launches do. A pure function of a timeline.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "analysis/attribution/attribution.hpp"
#include "analysis/steps/whole_steps.hpp"
#include "timeline/timeline.hpp"

namespace prof {

// Before what the thread calls next after this moment, and what that launches.
struct added_work {
    thread_id thread = npos;
    std::int64_t at_ns = 0;
    std::int64_t host_ns = 0;
    std::int64_t gpu_ns = 0;
};

struct added_times {
    std::uint64_t steps = 0;          // so many were replayed
    std::vector<double> longer_ns{};  // of a step, for each of the questions
};

// Consecutive steps from the middle of `steps`, with at most `most_records` calls and operations unless one has more.
whole_steps steps_to_replay(const timeline& data, const whole_steps& steps, std::size_t most_records = 200'000);

// `asked`: of each question what is added in these steps, which follow each other. Linear in the calls and operations
// of the steps, for each question.
added_times price_of_added_work(const timeline& data, const attribution& att, const whole_steps& steps,
                                std::span<const std::vector<added_work>> asked);

}  // namespace prof
