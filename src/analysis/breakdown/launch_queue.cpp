// SPDX-License-Identifier: Apache-2.0
#include "analysis/breakdown/launch_queue.hpp"

#include <algorithm>

namespace prof {

std::int64_t first_start_of(const timeline& data, const timeline_api_call& launch) {
    return data.ops[data.ops_by_launch[launch.first_op]].start_ns;
}

std::int64_t launched_at(const timeline& data, const gpu_op& op) {
    const timeline_api_call& launch = data.api_calls[op.launch];
    const std::int64_t begun_ns = std::min(first_start_of(data, launch), op.start_ns);
    return launch.end_ns == 0 ? begun_ns : std::min(begun_ns, launch.end_ns);
}

launch_queue::launch_queue(const timeline& data, std::uint32_t device) {
    for (const gpu_op& op : data.ops) {
        if (op.launch == npos || op.end_ns == op.start_ns || data.place_of(op).device != device) continue;
        launched_ns_.push_back(launched_at(data, op));
        ended_ns_.push_back(op.end_ns);
    }
    std::sort(launched_ns_.begin(), launched_ns_.end());
    std::sort(ended_ns_.begin(), ended_ns_.end());
}

std::uint64_t launch_queue::ended(std::int64_t ns) const {
    return static_cast<std::uint64_t>(std::upper_bound(ended_ns_.begin(), ended_ns_.end(), ns) - ended_ns_.begin());
}

std::uint64_t launch_queue::at(std::int64_t ns) const {
    const auto found = std::upper_bound(launched_ns_.begin(), launched_ns_.end(), ns);
    return static_cast<std::uint64_t>(found - launched_ns_.begin()) - ended(ns);
}

std::uint64_t launch_queue::before(std::int64_t ns) const {
    const auto found = std::lower_bound(launched_ns_.begin(), launched_ns_.end(), ns);
    return static_cast<std::uint64_t>(found - launched_ns_.begin()) - ended(ns);
}

}  // namespace prof
