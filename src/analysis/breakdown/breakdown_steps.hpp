// SPDX-License-Identifier: Apache-2.0
// The steps that the breakdown and the reports on idle time are of. A pure function of a timeline; linear in its ranges
// and operations.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <set>
#include <vector>

#include "analysis/attribution/attribution.hpp"
#include "analysis/selection/step_scope.hpp"
#include "analysis/steps/whole_steps.hpp"
#include "base/near_search.hpp"
#include "timeline/timeline.hpp"

namespace prof {

struct breakdown_steps {
    whole_steps of{};
    bool has_steps = false;  // else `of.steps` are the windows
    bool by_gpu = false;     // most steps begin when the GPU is done with the one before: the host runs ahead
};

// The steps that count; if there are none, the times of the scope.
breakdown_steps find_breakdown_steps(const timeline& data, const attribution& att, bool has_step_function,
                                     const step_scope& scope);

// These whole steps, of which there is at least one.
breakdown_steps breakdown_steps_of(whole_steps steps);

// The GPUs on which anything ran.
std::set<std::uint32_t> devices_of(const timeline& data);

// The steps' part of spans of time that come in order of time, and of pieces of each span that do so, too. Linear in
// the spans, pieces and steps together.
class step_cursor {
public:
    // The steps must outlive it, and be in order of time.
    explicit step_cursor(const std::vector<whole_step>& steps) : steps_(&steps) {}

    void restart() noexcept { next_ = piece_ = 0; }
    // Whether a step has any of this time. REQUIRES: start_ns is that of the span before or later.
    bool move_to(std::int64_t start_ns, std::int64_t end_ns) {
        while (next_ < steps_->size() && (*steps_)[next_].to_ns() <= start_ns) ++next_;
        return next_ < steps_->size() && (*steps_)[next_].from_ns() < end_ns;
    }
    // Calls visit(index of a step, start_ns, end_ns) for the time that steps have of this span, in order of time.
    // REQUIRES: it lies in the span of move_to().
    template <typename TVisit>
    void for_each(std::int64_t start_ns, std::int64_t end_ns, TVisit&& visit) {
        piece_ = partition_point_near(steps_->size(), std::max(piece_, next_),
                                      [&](std::size_t at) { return (*steps_)[at].to_ns() <= start_ns; });
        for (std::size_t i = piece_; i < steps_->size() && (*steps_)[i].from_ns() < end_ns; ++i) {
            const std::int64_t from_ns = std::max(start_ns, (*steps_)[i].from_ns());
            const std::int64_t to_ns = std::min(end_ns, (*steps_)[i].to_ns());
            if (to_ns > from_ns) visit(static_cast<std::uint32_t>(i), from_ns, to_ns);
        }
    }

private:
    const std::vector<whole_step>* steps_;
    std::size_t next_ = 0;   // the first step that ends after the start of the latest span
    std::size_t piece_ = 0;  // that of the latest piece
};

}  // namespace prof
