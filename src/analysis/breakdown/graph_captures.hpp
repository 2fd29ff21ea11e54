// SPDX-License-Identifier: Apache-2.0
// When threads captured CUDA graphs: from the call that begins a capture to the last call before the thread launches
// anything that is not captured. A pure function of a timeline; linear in its calls.
#pragma once

#include <cstdint>
#include <vector>

#include "analysis/selection/time_spans.hpp"
#include "timeline/timeline.hpp"

namespace prof {

class graph_captures {
public:
    explicit graph_captures(const timeline& data);
    // Whether the thread captured a graph at this time.
    bool contains(thread_id thread, std::int64_t ns) const;

private:
    std::vector<std::vector<time_span>> by_thread_;  // in order of time, without overlap; empty: there is none
};

}  // namespace prof
