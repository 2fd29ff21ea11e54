// SPDX-License-Identifier: Apache-2.0
// The steps of a capture as traces number them, whole or cut: ProfilerStep#N, as in torch.profiler. A pure function of
// a timeline; linear in its ranges and marks.
#pragma once

#include <cstdint>
#include <vector>

#include "analysis/attribution/domain_filter.hpp"
#include "analysis/steps/step_figures.hpp"
#include "timeline/timeline.hpp"

namespace prof {

struct numbered_step {
    std::int64_t start_ns = 0;
    std::int64_t end_ns = 0;
    std::uint64_t number = 0;
    thread_id thread = npos;  // index into timeline::threads: the thread with the steps
    range_id phase = npos;    // of observed steps
};

struct numbered_steps {
    step_source source = step_source::counted;
    std::vector<numbered_step> steps;  // by start_ns; without overlap
};

// The steps counted by prof_step or step_range, each until the next one or until its window ends.
std::vector<numbered_step> counted_steps(const timeline& data, const hidden_domains& hidden = {});

// The counted steps. If there are none, the phases "step", numbered from 0; in a part of a timeline as in the whole.
// None if the program has ranges ProfilerStep#N of its own.
numbered_steps number_steps(const timeline& data, const hidden_domains& hidden = {});

}  // namespace prof
