// SPDX-License-Identifier: Apache-2.0
// The collective operations that a kernel or copy carried, as arguments of its slice. Where torch.profiler has an
// argument for the same, it has that name; the others begin with a lower-case letter.
#pragma once

#include <cstdint>
#include <unordered_map>
#include <vector>

#include "export/chrome/trace_events.hpp"
#include "timeline/timeline.hpp"

namespace prof {

class collective_args {
public:
    // Linear in the collectives, and where some were captured in the operations.
    explicit collective_args(const timeline& data);
    // Adds them to the event that is open. Nothing for an operation that carried none.
    void write(trace_events& events, std::uint32_t op) const;

private:
    const timeline& data_;
    std::unordered_map<std::uint32_t, std::vector<std::uint32_t>> by_op_;
};

}  // namespace prof
