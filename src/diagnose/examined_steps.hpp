// SPDX-License-Identifier: Apache-2.0
// The steps that a diagnosis looks at, and what the host and the GPU did in them, part by part: the memory of a part
// does not depend on the number of steps. One thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

#include "analysis/attribution/attribution.hpp"
#include "analysis/breakdown/code_places.hpp"
#include "analysis/breakdown/graph_captures.hpp"
#include "analysis/breakdown/host_activity.hpp"
#include "analysis/breakdown/launching_places.hpp"
#include "analysis/steps/whole_steps.hpp"
#include "diagnose/replay/dependencies.hpp"
#include "timeline/timeline.hpp"

namespace prof {

// The part of a timeline around steps: their calls, those just before them, whose work the GPU may still have queued, a
// few after them, and every operation that these launched. `is_first`, `is_last`: all that is before, and after them.
graph_part part_around(const timeline& data, std::int64_t start_ns, std::int64_t end_ns, bool is_first = false,
                       bool is_last = false);

// At the edges of a part work is as it was recorded. So parts have many steps: 400,000 calls and operations, and at
// least 16 steps. Without steps there is one part, with all of the timeline.
class examined_steps {
public:
    // The first two arguments must outlive it. `step_function`, and `given` if it is not null: as diagnosis_options.
    examined_steps(const timeline& data, const attribution& att, std::string_view step_function,
                   const whole_steps* given = nullptr);
    examined_steps(const examined_steps&) = delete;
    examined_steps& operator=(const examined_steps&) = delete;

    std::size_t parts() const noexcept { return parts_.size(); }
    dependency_graph graph_of(std::size_t part) const;

    whole_steps steps;
    host_activity host;
    code_places where;
    launching_places launching;
    graph_captures captured;

private:
    struct steps_part {
        graph_part of;
        std::size_t first_step = 0;
        std::size_t end_step = 0;
    };
    void divide();

    const timeline& data_;
    const attribution& att_;
    std::vector<whole_step> joined_;  // as a graph has the steps
    std::vector<steps_part> parts_;
};

}  // namespace prof
