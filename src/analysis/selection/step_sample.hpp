// SPDX-License-Identifier: Apache-2.0
// Some of a capture's steps that stand for all, where looking at all takes too long: a few runs of steps that follow
// each other, spread over the capture. Pure; the time grows with the number of steps only.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "analysis/selection/time_spans.hpp"
#include "analysis/steps/whole_steps.hpp"
#include "timeline/timeline.hpp"

namespace prof {

// A record is a call or an operation.
struct sample_limits {
    std::size_t records = 200'000;      // of a sample, about; of large steps up to twice as many
    std::size_t most_a_step = 600'000;  // of one step; a sample has at least one
    std::size_t runs = 8;
};

struct step_sample {
    std::vector<whole_step> steps{};  // in order
    // Around each run of them, with what came before it as far as it may matter, and a little of what came after.
    std::vector<time_span> spans{};
};

// From steps that are not unusually long (longest_usual, as the rule uneven_steps has it), counted until the next one
// begins. Each run lies anywhere in its part of the capture, so that it meets no rhythm of the program; the same steps
// give the same sample. Empty if there are no steps, or if one has too many records.
step_sample sample_steps(const timeline& data, const std::vector<whole_step>& steps, const sample_limits& limits = {});

}  // namespace prof
