// SPDX-License-Identifier: Apache-2.0
// How many operations are queued on one GPU at a moment: launched, and not ended. Linear in the timeline's operations,
// beside sorting; 16 bytes an operation of that GPU; a look-up is a binary search.
//
// An operation is launched when the call that launches it has returned, or when the first operation of that call
// begins, if that is earlier. It ends with its last instant. Operations whose launch was not recorded, and those
// without length, do not count; the nodes of a graph's replay count one by one.
#pragma once

#include <cstdint>
#include <vector>

#include "timeline/timeline.hpp"

namespace prof {

class launch_queue {
public:
    launch_queue(const timeline& data, std::uint32_t device);

    // Launched at `ns` or before, and ended after it.
    std::uint64_t at(std::int64_t ns) const;
    // Launched before `ns`, and ended after it.
    std::uint64_t before(std::int64_t ns) const;

private:
    std::uint64_t ended(std::int64_t ns) const;

    std::vector<std::int64_t> launched_ns_;  // ascending
    std::vector<std::int64_t> ended_ns_;     // ascending
};

// When the operation was launched, as above. REQUIRES: its launch was recorded.
std::int64_t launched_at(const timeline& data, const gpu_op& op);
// When the first operation of its launch began. REQUIRES: its launch was recorded.
std::int64_t first_start_of(const timeline& data, const timeline_api_call& launch);

}  // namespace prof
