// SPDX-License-Identifier: Apache-2.0
// Finds the step to which a moment belongs. One thread; the cost is the logarithm of the distance to the moment before.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "analysis/steps/whole_steps.hpp"
#include "base/near_search.hpp"

namespace prof {

class step_search {
public:
    // The steps must outlive it, and be in order of time.
    explicit step_search(const std::vector<whole_step>& steps) : steps_(&steps) {}

    // The number of steps that the host had begun at `ns`.
    std::size_t begun(std::int64_t ns) {
        latest_ = partition_point_near(steps_->size(), latest_,
                                       [&](std::size_t step) { return (*steps_)[step].start_ns <= ns; });
        return latest_;
    }

    // The index of the step in which the host was at `ns`; npos: none.
    std::uint32_t at(std::int64_t ns) {
        const std::size_t count = begun(ns);
        return count == 0 || ns >= (*steps_)[count - 1].end_ns ? npos : static_cast<std::uint32_t>(count - 1);
    }

    // The index of the step that lies at `ns` in time (whole_step::from_ns); npos: none.
    std::uint32_t in_time(std::int64_t ns) {
        latest_ = partition_point_near(steps_->size(), latest_,
                                       [&](std::size_t step) { return (*steps_)[step].from_ns() <= ns; });
        return latest_ == 0 || ns >= (*steps_)[latest_ - 1].to_ns() ? npos : static_cast<std::uint32_t>(latest_ - 1);
    }

private:
    const std::vector<whole_step>* steps_;
    std::size_t latest_ = 0;
};

}  // namespace prof
