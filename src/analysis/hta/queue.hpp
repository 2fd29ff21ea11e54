// SPDX-License-Identifier: Apache-2.0
// The number of operations that each stream's queue holds: one more when a call launches it, one less when it starts.
// Pure functions of a timeline; linear in its calls and operations, with memory for the streams only.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "analysis/hta/describe.hpp"
#include "analysis/hta/scope.hpp"

namespace prof {

// The number of launches at which the driver lets a further one wait, as HTA has it.
inline constexpr std::int64_t full_queue = 1024;

struct stream_queue {
    std::optional<std::uint32_t> device;  // none: the streams of all devices with this id as one
    std::uint32_t stream = 0;
    histogram<std::int64_t> lengths;  // after each change, as HTA's time series has them
    // By time, from the first change to the last:
    std::int64_t span_ns = 0;
    std::int64_t empty_ns = 0;  // nothing is queued (something may run)
    std::int64_t full_ns = 0;
    double length_ns = 0;  // length × time
};

// `hta`: calls that HTA knows (so no graphs). `all`: every call; each operation of a graph counts from its launch on.
std::vector<stream_queue> measure_queues(const hta_input& input, hta_scope scope);

// From the start of a trace's first event to that of its last, which HTA divides by.
std::int64_t hta_trace_duration(const hta_input& input, hta_scope scope);

}  // namespace prof
